#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace mesh {

/// An absolute http or https URL (RFC 3986), its path and query kept byte for byte. Never holds a
/// user or a password.
class Url {
 public:
  /// InvalidArgument: another scheme, no host, a user, a port that is none, a character that no URL
  /// has. The message quotes the URL without its query, which may be secret. A fragment is dropped.
  [[nodiscard]] static Result<Url> parse(std::string_view text);

  /// The URL that `reference` (absolute, `//host/…`, `/path`, `path` or `?query`) means when it is
  /// found at this one: RFC 3986 section 5.2, dot segments removed.
  [[nodiscard]] Result<Url> resolve(std::string_view reference) const;

  [[nodiscard]] bool is_https() const { return https_; }
  /// Lower case; an IPv6 address in its brackets.
  [[nodiscard]] const std::string& host() const { return host_; }
  /// The one that is written, or else the scheme's (80, 443).
  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// Begins with `/`.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Without the `?`; empty where there is none.
  [[nodiscard]] const std::string& query() const { return query_; }

  /// `https://host[:port]`, the port only where it is not the scheme's.
  [[nodiscard]] std::string origin() const;
  [[nodiscard]] std::string text() const;
  /// text() without the query: what may be shown and logged.
  [[nodiscard]] std::string shown() const;
  /// This URL with `pair` (`name=value`, escaped already) at the end of its query.
  [[nodiscard]] Url with_query(std::string_view pair) const;

  /// Same scheme, host and port.
  [[nodiscard]] bool same_origin(const Url& other) const;

 private:
  Url() = default;
  bool https_ = false;
  std::string host_;
  std::uint16_t port_ = 0;
  std::string path_ = "/";
  std::string query_;
};

/// `text` with every byte but letters, digits and `-._~` as `%XX`: fit for a name or value of a
/// query or of a form.
[[nodiscard]] std::string url_escaped(std::string_view text);

}  // namespace mesh
