#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mesh::oci {

/// Seconds since 1970 of an HTTP date (RFC 9110 section 5.6.7, its three forms); nothing where it
/// is none. Two-digit years are taken within 50 years of `now`.
[[nodiscard]] std::optional<std::int64_t> parse_http_date(std::string_view text, std::int64_t now);

/// How long a `Retry-After` says to wait from `now` (seconds since 1970): a number of seconds or a
/// date. A date that has passed is 0. Nothing where it is neither.
[[nodiscard]] std::optional<std::chrono::seconds> parse_retry_after(std::string_view text,
                                                                    std::int64_t now);

/// One of `ratelimit-limit: 100;w=21600`, `ratelimit-remaining: 76;w=21600`.
struct RateLimit {
  std::int64_t count = 0;
  std::optional<std::chrono::seconds> window;

  friend bool operator==(const RateLimit&, const RateLimit&) = default;
};
[[nodiscard]] std::optional<RateLimit> parse_rate_limit(std::string_view text);

/// What a registry said about a failure.
struct RegistryError {
  std::string code;     // of the first error: `MANIFEST_UNKNOWN`; empty where the body is not OCI's
  std::string message;  // one clean line, cut; empty for an empty body
  [[nodiscard]] std::string text() const;  // `MANIFEST_UNKNOWN: manifest unknown`
};

/// Reads an error body: OCI's JSON (`{"errors":[{"code","message","detail"}]}`, also a single
/// object), or else text or HTML, of which one line is kept, without its tags.
[[nodiscard]] RegistryError parse_error_body(std::string_view body);

/// Which limit a 429 is about.
enum class Limit {
  Quota,  // so many pulls in a window; asking again before it ends costs and does not help
  Abuse,  // too many requests at once; a pause helps
};

/// Told by the body and the headers: quota where OCI's error says so (`TOOMANYREQUESTS` with a
/// message about a pull rate limit) or `ratelimit-remaining` is 0; otherwise abuse (a bare `Too
/// Many Requests`).
[[nodiscard]] Limit limit_of(const RegistryError& error, const std::optional<RateLimit>& remaining);

/// One failed attempt.
struct Failure {
  int status = 0;  // 0: no answer (connection refused, reset, stalled)
  std::optional<std::chrono::seconds> retry_after;
  Limit limit = Limit::Abuse;                  // of a 429
  std::optional<std::chrono::seconds> window;  // of `ratelimit-remaining`
};

struct RetryPolicy {
  int attempts = 5;  // in all
  std::chrono::milliseconds first{500};
  std::chrono::milliseconds most{30'000};    // of one wait that is ours to choose
  std::chrono::seconds longest_obeyed{120};  // of one that the registry asks for
};

/// Wait that long for the whole host and ask again, or give up and say why.
struct Decision {
  bool again = false;
  std::chrono::milliseconds wait{0};
  /// Where again is false: `not worth repeating`, `after 5 attempts`, `the registry asks to wait
  /// 900 seconds`, `its quota is spent for up to 21600 seconds`.
  std::string reason;
  /// Where again is false and the registry said or implied it: how long nothing should be asked.
  std::optional<std::chrono::seconds> closed;
};

/// `attempt` counts from 1 (the one that failed); `jitter` in [0, 1) spreads the waits (the
/// caller's randomness). No answer, 408, 429, 500, 502, 503 and 504 are repeated, each wait twice
/// as long as the last; `Retry-After` is obeyed. A spent quota is not asked again unless its
/// `Retry-After` is short.
[[nodiscard]] Decision decide(const Failure& failure, int attempt, const RetryPolicy& policy,
                              double jitter);

}  // namespace mesh::oci
