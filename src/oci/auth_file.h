#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace mesh::oci {

/// A user and a password, for Basic and for the token server. Secret.
struct BasicPair {
  std::string user;
  std::string password;
};
/// What a token server trades for access tokens (OAuth 2 refresh token). Secret.
struct IdentityToken {
  std::string token;
};
/// What is sent as Bearer as it is. Secret.
struct RegistryToken {
  std::string token;
};
/// A program `docker-credential-NAME` to ask (`get`), with `server` on its standard input.
struct Helper {
  std::string name;
  std::string server;
};

using CredentialSource = std::variant<BasicPair, IdentityToken, RegistryToken, Helper>;

/// An `auth.json` of podman or a `config.json` of docker. Its texts are secrets: no error and no
/// message quotes any.
class AuthFile {
 public:
  /// `name` is the file's, for messages. Corrupt: not JSON, not of its form (the key is named, no
  /// value is). What Mesh does not use is ignored.
  [[nodiscard]] static Result<AuthFile> parse(std::string_view bytes, const std::string& name);

  /// What to try for a repository, in order; empty: ask without credentials. The order is that of
  /// docker and podman: a helper of this registry (`credHelpers`), entries of `auths` from the most
  /// particular (`host/ns/repo`) to the host, and `credsStore`. The host's keys may be written as
  /// docker did (`https://index.docker.io/v1/`, `https://host/v2/`), and each name of Docker's
  /// registry finds the others' entry.
  [[nodiscard]] std::vector<CredentialSource> sources(std::string_view domain,
                                                      std::string_view path) const;

 private:
  struct Entry {
    std::string written;  // the key as it is in the file
    std::vector<CredentialSource> found;
  };
  std::map<std::string, std::vector<Entry>> auths_;  // by the key as it is compared
  std::map<std::string, Helper> helpers_;
  std::string store_;
};

/// What a credential helper printed. `server` is for messages. NotFound: it holds none for that
/// server. Corrupt: not its form. Unavailable: it failed (exit status not 0); one line of what it
/// said is shown, unless it looks like the JSON that holds the secret.
[[nodiscard]] Result<CredentialSource> read_helper_answer(std::string_view output, int exit_status,
                                                          const Helper& helper);

}  // namespace mesh::oci
