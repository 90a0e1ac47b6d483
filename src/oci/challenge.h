#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/url.h"

namespace mesh::oci {

/// One challenge of a `WWW-Authenticate` header (RFC 9110 section 11.6.1).
struct Challenge {
  std::string scheme;                             // lower case
  std::map<std::string, std::string> parameters;  // names in lower case, values unquoted
};

/// All challenges of all headers, in their order. Takes what real registries send: several in one
/// header, quoted commas, `\"`, values without quotes, commas missing between parameters, a quote
/// that is never closed. What cannot be read is left out; the first of a repeated parameter counts.
[[nodiscard]] std::vector<Challenge> parse_challenges(std::span<const std::string> headers);

/// What a token is asked for: `repository:library/debian:pull,push`.
struct Scope {
  std::string type;                  // "repository", "registry"
  std::string name;                  // may hold colons (a port)
  std::vector<std::string> actions;  // sorted, each once

  [[nodiscard]] std::string text() const;
  friend bool operator==(const Scope&, const Scope&) = default;
};

/// The scopes of one `scope` value: entries are separated by blanks. What is not of the form is
/// left out.
[[nodiscard]] std::vector<Scope> parse_scopes(std::string_view text);

/// Both lists in one: each type and name once, with the actions of both; in the order of first
/// appearance.
[[nodiscard]] std::vector<Scope> merged(std::vector<Scope> a, const std::vector<Scope>& b);

/// The scope that an operation on a repository needs, for registries whose challenge has none.
[[nodiscard]] Scope repository_scope(std::string_view path, bool push);

/// What to answer a 401 with.
struct Demand {
  enum class Kind { Bearer, Basic };
  Kind kind = Kind::Basic;
  std::string realm;          // of Bearer: the URL to ask for a token
  std::string service;        // may be empty
  std::vector<Scope> scopes;  // the challenge's
  std::string error;  // `insufficient_scope`, `invalid_token`: why the last token was refused
};

/// The challenge to answer: Bearer with a realm before Basic. Unsupported, naming the schemes that
/// were offered, where there is neither.
[[nodiscard]] Result<Demand> choose_demand(std::span<const Challenge> challenges);

/// The realm as a URL, where credentials may be sent to it: https; or plain http to loopback where
/// the registry is there too, or to the registry's own host where it is plain http itself. Refused
/// with PermissionDenied: a downgrade to http, a user in the URL, a private, link-local or loopback
/// address unless the registry's own host is of that kind. A name is resolved later: who dials it
/// checks the addresses by host_kind.
[[nodiscard]] Result<Url> check_realm(std::string_view realm, const Url& registry);

/// GET: the realm with `service`, a `scope` for each of `scopes` and `account` (where not empty).
/// Nothing is sent empty.
[[nodiscard]] Url token_url(const Url& realm, const Demand& demand,
                            const std::vector<Scope>& scopes, std::string_view account);

/// POST: the form that trades an identity token for an access token (OAuth 2, distribution's
/// `oauth2.md`). Holds the secret.
[[nodiscard]] std::string refresh_form(const Demand& demand, const std::vector<Scope>& scopes,
                                       std::string_view identity_token);

/// A token server's answer.
struct TokenAnswer {
  std::string token;          // a secret
  std::string refresh_token;  // a secret; may be empty
  /// Seconds that it is valid from its issue: 60 where the answer does not say, and where it says
  /// less than 1.
  std::int64_t expires_in = 60;
  std::optional<std::int64_t> issued_at;  // seconds since 1970, where the answer says so
};

/// Reads `token` or `access_token`, `expires_in`, `issued_at`. Corrupt, without any of its text:
/// not JSON, no token, an absurd length.
[[nodiscard]] Result<TokenAnswer> read_token(std::string_view body);

}  // namespace mesh::oci
