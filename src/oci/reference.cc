#include "oci/reference.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/host.h"
#include "base/text.h"
#include "oci/reference_grammar.h"

namespace mesh::oci {

namespace {

constexpr std::string_view kDockerDomain = "docker.io";
constexpr std::string_view kDockerIndex = "index.docker.io";
constexpr std::string_view kDockerEndpoint = "registry-1.docker.io";
constexpr std::string_view kDockerOldEndpoint = "registry.hub.docker.com";
constexpr std::string_view kOfficial = "library/";

std::string reference_lower(std::string_view text) {
  std::string out(text);
  const auto lower = [](char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  };
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

std::unexpected<Error> bad_reference(std::string_view text, Error why) {
  why.message =
      fmt::format("\"{}\" is not an image reference: {}", printable(text, 200), why.message);
  return std::unexpected(std::move(why));
}

std::unexpected<Error> bad_reference(std::string_view text, std::string why, std::string hint) {
  return bad_reference(text, Error{Code::InvalidArgument, std::move(why), std::move(hint), {}});
}

/// Whether what stands before the first slash is a domain and not the first part of a path of
/// docker.io.
bool is_domain(std::string_view first) {
  const auto upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  return first == "localhost" || first.starts_with('[') ||
         first.find_first_of(".:") != std::string_view::npos ||
         std::any_of(first.begin(), first.end(), upper);
}

/// Domain, and path with what follows it, as docker normalises them.
std::pair<std::string, std::string> split_domain(std::string_view text) {
  const auto slash = text.find('/');
  std::string_view domain = kDockerDomain;
  std::string_view rest = text;
  if (slash != std::string_view::npos && is_domain(text.substr(0, slash))) {
    domain = text.substr(0, slash);
    rest = text.substr(slash + 1);
  }
  if (domain == kDockerIndex) {
    domain = kDockerDomain;
  }
  const bool official = domain == kDockerDomain && rest.find('/') == std::string_view::npos;
  return {std::string(domain),
          (official ? std::string(kOfficial) : std::string()) + std::string(rest)};
}

/// What has nothing of a reference, and what people write instead of one.
Status check_whole(std::string_view text) {
  if (text.empty()) {
    return fail(Code::InvalidArgument, "an image reference is empty",
                "write it as registry/name:tag or registry/name@sha256:…");
  }
  const auto scheme = text.find("://");
  if (scheme != std::string_view::npos) {
    return bad_reference(text, "it begins with a scheme",
                         fmt::format("leave \"{}://\" out", printable(text.substr(0, scheme), 40)));
  }
  const auto blank = [](char c) { return (c >= 0 && c <= ' ') || c == 0x7F; };
  if (std::any_of(text.begin(), text.end(), blank)) {
    return bad_reference(text, "it holds a blank or a control character", "take it away");
  }
  if (grammar::is_identifier(text)) {
    return bad_reference(
        text, "64 hexadecimal digits are taken for an image's id",
        "write the repository too: name@sha256:…, or docker.io/library/… if it is its name");
  }
  if (Digest::parse(text)) {
    return bad_reference(text, "a digest alone names no repository",
                         "write name@" + std::string(text));
  }
  return {};
}

/// A host without a repository, which the grammar would take for something stranger.
Status check_not_host(std::string_view text) {
  if (text.starts_with('[') && text.find('/') == std::string_view::npos) {
    return bad_reference(text, "it names a registry and no repository",
                         "write the repository after a slash: [::1]:5000/name");
  }
  return {};
}

Result<std::optional<Digest>> digest_part(std::string_view text, std::size_t at) {
  if (at == std::string_view::npos) {
    return std::optional<Digest>();
  }
  const std::string_view part = text.substr(at + 1);
  if (part.empty()) {
    return bad_reference(text, "the digest after @ is empty",
                         "write sha256: and 64 digits, or leave @ out");
  }
  auto digest = Digest::parse(part);
  if (!digest) {
    return bad_reference(text, std::move(digest).error());
  }
  return std::optional(std::move(*digest));
}

bool is_docker_domain(std::string_view lower) {
  static constexpr std::array kNames{kDockerDomain, kDockerIndex, kDockerEndpoint,
                                     kDockerOldEndpoint};
  return std::find(kNames.begin(), kNames.end(), lower) != kNames.end();
}

}  // namespace

Result<Reference> Reference::parse(std::string_view text) {
  MESH_CHECK(check_whole(text));
  MESH_CHECK(check_not_host(text));
  // A zone (`[fe80::1%@zone]`) is the one thing before a digest that may hold an `@`.
  const auto bracket = text.starts_with('[') ? text.find(']') : 0;
  const auto at = text.find('@', bracket == std::string_view::npos ? 0 : bracket);
  auto [domain, rest] = split_domain(text.substr(0, at));
  Reference out;
  MESH_TRY(out.digest_, digest_part(text, at));
  const auto colon = rest.find(':');
  if (colon != std::string::npos) {
    out.tag_ = rest.substr(colon + 1);
    rest.resize(colon);
  }
  out.domain_ = std::move(domain);
  out.path_ = std::move(rest);
  for (auto& checked : {grammar::check_domain(out.domain_), grammar::check_path(out.path_),
                        out.tag_ ? grammar::check_tag(*out.tag_) : Status()}) {
    if (!checked) {
      return bad_reference(text, checked.error());
    }
  }
  return out;
}

std::string Reference::target() const {
  return digest_ ? digest_->text() : tag_.value_or("latest");
}

std::string Reference::text() const {
  return name() + (tag_ ? ":" + *tag_ : "") + (digest_ ? "@" + digest_->text() : "");
}

std::string Reference::familiar() const {
  std::string shown = name();
  if (domain_ == kDockerDomain) {
    shown = path_;
    const std::string_view bare = std::string_view(path_).substr(
        path_.starts_with(kOfficial) ? kOfficial.size() : path_.size());
    if (!bare.empty() && bare.find('/') == std::string_view::npos) {
      shown = bare;
    }
  }
  const std::string rest = text().substr(name().size());
  const auto again = parse(shown + rest);
  return again && *again == *this ? shown + rest : text();
}

namespace {

/// `domain` in lower case, without the port that https has anyway where it is one of Docker's.
std::string registry_key(std::string_view domain) {
  static constexpr std::string_view kHttpsPort = ":443";
  const std::string key = reference_lower(domain);
  const std::string bare =
      key.ends_with(kHttpsPort) ? key.substr(0, key.size() - kHttpsPort.size()) : key;
  return is_docker_domain(bare) ? bare : key;
}

}  // namespace

std::string endpoint_of(std::string_view domain) {
  const std::string key = registry_key(domain);
  return key == kDockerDomain || key == kDockerIndex ? std::string(kDockerEndpoint)
                                                     : std::string(domain);
}

std::string credential_key(std::string_view domain) {
  std::string key = registry_key(domain);
  return is_docker_domain(key) ? std::string(kDockerDomain) : key;
}

bool is_loopback_domain(std::string_view domain) {
  const auto bracket = domain.rfind(']');
  const auto colon = domain.find(':', bracket == std::string_view::npos ? 0 : bracket);
  return host_kind(domain.substr(0, colon)) == HostKind::Loopback;
}

Result<Repository> Repository::parse(std::string_view text) {
  const auto refuse = [&](std::string_view why, std::string hint) {
    return fail(Code::InvalidArgument,
                fmt::format("\"{}\" is not a repository's name: {}", printable(text, 200), why),
                std::move(hint));
  };
  if (text.find('@') != std::string_view::npos) {
    return refuse("it has a digest", "leave the @ and what follows out");
  }
  if (text.find(':') != std::string_view::npos) {
    return refuse("it has a tag, a port or a scheme", "write the name alone, as in bases/debian");
  }
  const auto checked = grammar::check_path(text);
  if (!checked) {
    return refuse(checked.error().message,
                  text.empty() ? "write a name, as in bases/debian" : checked.error().hint);
  }
  return Repository(std::string(text));
}

Result<std::string> parse_tag(std::string_view text) {
  const auto checked = grammar::check_tag(text);
  if (!checked) {
    return fail(
        Code::InvalidArgument,
        fmt::format("\"{}\" is not a tag: {}", printable(text, 150), checked.error().message),
        checked.error().hint);
  }
  return std::string(text);
}

}  // namespace mesh::oci
