#include "oci/challenge.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/host.h"
#include "base/text.h"

namespace mesh::oci {

namespace {

char challenge_lower(char c) {
  return static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

std::string lower_word(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), challenge_lower);
  return out;
}

/// RFC 9110 section 5.6.2.
bool is_token_character(char c) {
  const char l = challenge_lower(c);
  return (l >= 'a' && l <= 'z') || (c >= '0' && c <= '9') ||
         (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
}

bool is_challenge_blank(char c) {
  return c == ' ' || c == '\t';
}

/// The schemes that are told from a stray word of an unquoted value.
bool is_known_scheme(std::string_view lower) {
  static constexpr std::array<std::string_view, 8> kSchemes{
      "bearer", "basic", "digest", "negotiate", "ntlm", "hoba", "mutual", "oauth"};
  return std::find(kSchemes.begin(), kSchemes.end(), lower) != kSchemes.end();
}

/// Reads the challenges of one header, leniently.
class ChallengeReader {
 public:
  ChallengeReader(std::string_view text, std::vector<Challenge>& out)
      : text_(text), out_(out), first_(out.size()) {}

  void read() {
    while (at_ < text_.size()) {
      if (is_challenge_blank(text_[at_]) || text_[at_] == ',') {
        ++at_;
        continue;
      }
      const std::string_view word = take_token();
      if (word.empty()) {
        skip_junk();
      } else {
        take_word(word);
      }
    }
  }

 private:
  [[nodiscard]] bool has_challenge() const { return out_.size() > first_; }
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  std::string_view take_token() {
    const std::size_t from = at_;
    while (at_ < text_.size() && is_token_character(text_[at_])) {
      ++at_;
    }
    return text_.substr(from, at_ - from);
  }

  void skip_blanks() {
    while (is_challenge_blank(peek())) {
      ++at_;
    }
  }

  void skip_junk() {
    ++at_;
    at_ = std::min(text_.find_first_of(" \t,", at_), text_.size());
  }

  /// A word is a parameter's name where `=` follows, otherwise a scheme, or the rest of an unquoted
  /// value that held a comma (`scope=repository:a:pull,push`).
  void take_word(std::string_view word) {
    skip_blanks();
    if (peek() == '=') {
      ++at_;
      take_parameter(word);
    } else if (open_value_ != nullptr && !is_known_scheme(lower_word(word)) &&
               !parameter_follows()) {
      *open_value_ += "," + std::string(word);
    } else {
      open_value_ = nullptr;
      out_.push_back({lower_word(word), {}});
    }
  }

  /// Whether `name=` comes next: then the word before it was a scheme.
  [[nodiscard]] bool parameter_follows() const {
    std::size_t at = at_;
    while (at < text_.size() && is_token_character(text_[at])) {
      ++at;
    }
    return at > at_ && at < text_.size() && text_[at] == '=';
  }

  void take_parameter(std::string_view name) {
    skip_blanks();
    const bool quoted = peek() == '"';
    std::string value = quoted ? take_quoted() : take_plain();
    open_value_ = nullptr;
    if (!has_challenge()) {
      return;
    }
    const auto [entry, added] = out_.back().parameters.emplace(lower_word(name), std::move(value));
    open_value_ = added && !quoted ? &entry->second : nullptr;
  }

  std::string take_plain() {
    const std::size_t from = at_;
    at_ = std::min(text_.find_first_of(" \t,", at_), text_.size());
    return std::string(text_.substr(from, at_ - from));
  }

  std::string take_quoted() {
    std::string value;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        ++at_;
      }
      value += text_[at_];
    }
    at_ = std::min(at_ + 1, text_.size());
    return value;
  }

  std::string_view text_;
  std::vector<Challenge>& out_;
  std::size_t first_;
  std::size_t at_ = 0;
  std::string* open_value_ = nullptr;  // the last value, where it had no quotes
};

std::string parameter(const Challenge& challenge, const std::string& name) {
  const auto found = challenge.parameters.find(name);
  return found == challenge.parameters.end() ? std::string() : found->second;
}

}  // namespace

std::vector<Challenge> parse_challenges(std::span<const std::string> headers) {
  std::vector<Challenge> out;
  for (const auto& header : headers) {
    ChallengeReader(header, out).read();
  }
  return out;
}

Result<Demand> choose_demand(std::span<const Challenge> challenges) {
  const Challenge* basic = nullptr;
  std::vector<std::string> offered;
  for (const auto& challenge : challenges) {
    if (challenge.scheme == "bearer" && !parameter(challenge, "realm").empty()) {
      return Demand{Demand::Kind::Bearer, parameter(challenge, "realm"),
                    parameter(challenge, "service"), parse_scopes(parameter(challenge, "scope")),
                    parameter(challenge, "error")};
    }
    basic = basic == nullptr && challenge.scheme == "basic" ? &challenge : basic;
    offered.push_back(printable(challenge.scheme, 40));
  }
  if (basic != nullptr) {
    return Demand{Demand::Kind::Basic, parameter(*basic, "realm"), "", {}, ""};
  }
  if (offered.empty()) {
    return fail(Code::Unsupported, "it asks for credentials and does not say of which kind",
                "a registry answers 401 with a WWW-Authenticate header");
  }
  return fail(Code::Unsupported,
              fmt::format("it asks for credentials of a kind that Mesh does not have ({})",
                          join(offered, ", ")),
              "Bearer (with a realm) and Basic can be had");
}

Result<Url> check_realm(std::string_view realm, const Url& registry) {
  auto url = Url::parse(realm);
  const auto refuse = [&](std::string_view why, std::string hint = {}) {
    return fail(Code::PermissionDenied,
                fmt::format("{} names {} to ask for a token, {}", registry.origin(),
                            url ? url->origin() : "something", why),
                std::move(hint));
  };
  if (!url) {
    return refuse("which is not a URL that credentials are sent to", url.error().message);
  }
  const HostKind there = host_kind(url->host());
  const HostKind here = host_kind(registry.host());
  const bool same_host = url->host() == registry.host();
  const bool both_loopback = there == HostKind::Loopback && here == HostKind::Loopback;
  if (!url->is_https() && !both_loopback && (registry.is_https() || !same_host)) {
    return refuse(
        "which would send credentials without TLS",
        "the realm must be https; a registry behind a proxy may have its realm configured wrongly");
  }
  const bool open = there == HostKind::Name || there == HostKind::Public;
  const bool ours = here == there || (there == HostKind::Private && here == HostKind::Loopback);
  if (there == HostKind::Special || (!open && !same_host && !ours)) {
    return refuse("which is an address within a network that the registry is not part of");
  }
  return std::move(*url);
}

}  // namespace mesh::oci
