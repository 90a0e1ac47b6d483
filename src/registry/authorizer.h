#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/url.h"
#include "http/loop.h"
#include "oci/challenge.h"
#include "registry/account.h"
#include "registry/credentials.h"

namespace mesh::registry {

/// Answers the challenges of one registry: which Authorization a request carries. Tokens are kept
/// for each set of scopes until shortly before they expire.
class Authorizer {
 public:
  struct Setting {
    http::Loop& loop;
    const Services& services;
    Credentials& credentials;
    Account* account;  // null: not an upstream
    std::string domain;
    std::string ca_file;
    std::string auth_file;  // empty: the files of the user
  };
  explicit Authorizer(Setting setting) : setting_(std::move(setting)) {}

  /// The header's value for a request of `path` that needs `scopes`; empty before the registry has
  /// asked for anything. Errors: PermissionDenied (no credentials, refused by the token server, a
  /// realm that may not have them), Unavailable, Corrupt (what the token server said).
  [[nodiscard]] Result<std::string> authorization(const Url& registry, const std::string& path,
                                                  const std::vector<oci::Scope>& scopes);

  /// After a 401 to a request that carried `used`: notes what is asked for and forgets the token.
  /// Errors: Unsupported (neither Bearer nor Basic), PermissionDenied (the user and the password
  /// that it was asked with are refused: asking again is no use).
  [[nodiscard]] Status challenged(const http::Response& answer, const std::string& used);

  [[nodiscard]] bool uses_tokens() const {
    return demand_ && demand_->kind == oci::Demand::Kind::Bearer;
  }

 private:
  struct Token {
    std::string text;
    os::Monotonic until;
  };

  [[nodiscard]] Result<Credentials::Known> credentials(const std::string& path);
  [[nodiscard]] Result<std::string> basic(const std::string& path);
  [[nodiscard]] Result<std::string> bearer(const Url& registry, const std::string& path,
                                           const std::vector<oci::Scope>& scopes);
  [[nodiscard]] Result<Token> fetch_token(const Url& registry, const std::string& path,
                                          const std::vector<oci::Scope>& scopes);
  [[nodiscard]] Result<http::Response> ask(const http::Request& request, const Url& shown);

  Setting setting_;
  std::optional<oci::Demand> demand_;
  std::string file_;  // the last user and password were from it
  std::map<std::string, Token> tokens_;
  bool fetching_ = false;
  http::Waiters fetched_;
};

}  // namespace mesh::registry
