#include "base/url.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace mesh {

namespace {

constexpr std::size_t kLongestUrl = 65536;
constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

char url_lower(char c) {
  return static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

bool is_url_letter_or_digit(char c) {
  const char l = url_lower(c);
  return (l >= 'a' && l <= 'z') || (c >= '0' && c <= '9');
}

/// What may be shown of a text that was meant to be a URL: no query, no user.
std::string url_for_message(std::string_view text) {
  text = text.substr(0, text.find_first_of("?#"));
  const auto scheme = text.find("://");
  const std::size_t from = scheme == std::string_view::npos ? 0 : scheme + 3;
  const auto authority = text.substr(from, text.find('/', from) - from);
  const auto at = authority.rfind('@');
  if (at == std::string_view::npos) {
    return printable(text);
  }
  return printable(std::string(text.substr(0, from)) + "…" + std::string(text.substr(from + at)));
}

std::unexpected<Error> no_url(std::string_view text, std::string_view why, std::string hint = {}) {
  return fail(Code::InvalidArgument,
              fmt::format("\"{}\" is not a URL to ask: {}", url_for_message(text), why),
              std::move(hint));
}

/// The length of `scheme:` at the start of a reference, or 0 (RFC 3986 section 3.1).
std::size_t scheme_length(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0 || text.find_first_of("/?#") < colon) {
    return 0;
  }
  const std::string_view name = text.substr(0, colon);
  const auto fits = [](char c) {
    return is_url_letter_or_digit(c) || c == '+' || c == '-' || c == '.';
  };
  return std::all_of(name.begin(), name.end(), fits) ? colon + 1 : 0;
}

/// RFC 3986 section 5.2.4, for a path that begins with a slash.
std::string without_dots(std::string_view path) {
  std::vector<std::string_view> kept;
  const auto segments = split(path.substr(1), '/');
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const bool dots = segments[i] == "." || segments[i] == "..";
    if (segments[i] == ".." && !kept.empty()) {
      kept.pop_back();
    }
    if (!dots) {
      kept.push_back(segments[i]);
    } else if (i + 1 == segments.size()) {
      kept.emplace_back();
    }
  }
  std::string out;
  for (const auto segment : kept) {
    out += '/';
    out += segment;
  }
  return out.empty() ? "/" : out;
}

/// Splits `text` into what is before the first `?` and what is after it.
std::pair<std::string_view, std::string_view> path_and_query(std::string_view text) {
  const auto mark = text.find('?');
  return mark == std::string_view::npos ? std::pair(text, std::string_view())
                                        : std::pair(text.substr(0, mark), text.substr(mark + 1));
}

/// The port's number, or nothing. An empty one is the scheme's (RFC 3986 section 3.2.3).
std::optional<std::uint16_t> read_port(std::string_view text, bool https) {
  if (text.empty()) {
    return https ? kHttpsPort : kHttpPort;
  }
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool whole = error == std::errc() && end == text.data() + text.size() && port != 0;
  return whole ? std::optional(port) : std::nullopt;
}

bool is_host(std::string_view host) {
  if (host.starts_with('[')) {
    const bool other = host.find_first_not_of("0123456789abcdef:.", 1) != host.size() - 1;
    return host.size() > 2 && host.back() == ']' && !other &&
           host.find(':') != std::string_view::npos;
  }
  const auto fits = [](char c) {
    return is_url_letter_or_digit(c) || c == '-' || c == '.' || c == '_';
  };
  return !host.empty() && std::all_of(host.begin(), host.end(), fits);
}

/// Where `authority`'s port begins (after its colon), or npos.
std::size_t port_colon(std::string_view authority) {
  const auto bracket = authority.rfind(']');
  return authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
}

}  // namespace

Result<Url> Url::parse(std::string_view text) {
  const auto bad = [](char c) { return c <= ' ' || c >= 0x7F; };
  if (text.size() > kLongestUrl || std::any_of(text.begin(), text.end(), bad)) {
    return no_url(text, text.size() > kLongestUrl
                            ? "it is too long"
                            : "it holds a blank or another character that no URL has");
  }
  std::string scheme(text.substr(0, scheme_length(text)));
  std::transform(scheme.begin(), scheme.end(), scheme.begin(), url_lower);
  Url url;
  url.https_ = scheme == "https:";
  if ((!url.https_ && scheme != "http:") || text.substr(scheme.size(), 2) != "//") {
    return no_url(text, "it begins neither with https:// nor with http://");
  }
  std::string_view rest = text.substr(scheme.size() + 2);
  rest = rest.substr(0, rest.find('#'));
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
  if (authority.find('@') != std::string_view::npos) {
    return no_url(text, "it holds a user or a password",
                  "name the host alone; keep credentials in auth.json");
  }
  const std::size_t colon = port_colon(authority);
  url.host_ = authority.substr(0, colon);
  std::transform(url.host_.begin(), url.host_.end(), url.host_.begin(), url_lower);
  const auto port =
      read_port(colon == std::string_view::npos ? std::string_view() : authority.substr(colon + 1),
                url.https_);
  if (!is_host(url.host_) || !port) {
    return no_url(text, port ? "its host is not one" : "its port is not a number from 1 to 65535");
  }
  url.port_ = *port;
  const auto [path, query] = path_and_query(rest.substr(authority.size()));
  url.path_ = path.empty() ? "/" : std::string(path);
  url.query_ = query;
  return url;
}

Result<Url> Url::resolve(std::string_view reference) const {
  if (scheme_length(reference) != 0) {
    return parse(reference);
  }
  if (reference.starts_with("//")) {
    return parse((https_ ? "https:" : "http:") + std::string(reference));
  }
  reference = reference.substr(0, reference.find('#'));
  const auto [path, query] = path_and_query(reference);
  std::string target = path_;
  if (path.starts_with('/')) {
    target = without_dots(path);
  } else if (!path.empty()) {
    target = without_dots(path_.substr(0, path_.rfind('/') + 1) + std::string(path));
  }
  if (!reference.empty() && (!path.empty() || reference.front() == '?')) {
    target += query.empty() ? "" : "?" + std::string(query);
  } else {
    target += query_.empty() ? "" : "?" + query_;
  }
  return parse(origin() + target);
}

std::string Url::origin() const {
  const bool usual = port_ == (https_ ? kHttpsPort : kHttpPort);
  return fmt::format("{}://{}{}", https_ ? "https" : "http", host_,
                     usual ? std::string() : fmt::format(":{}", port_));
}

std::string Url::text() const {
  return origin() + path_ + (query_.empty() ? "" : "?" + query_);
}

std::string Url::shown() const {
  return origin() + printable(path_, 256);
}

Url Url::with_query(std::string_view pair) const {
  Url url = *this;
  if (!url.query_.empty() && !url.query_.ends_with('&')) {
    url.query_ += '&';
  }
  url.query_ += pair;
  return url;
}

bool Url::same_origin(const Url& other) const {
  return https_ == other.https_ && host_ == other.host_ && port_ == other.port_;
}

std::string url_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_url_letter_or_digit(c) || c == '-' || c == '.' || c == '_' || c == '~') {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace mesh
