#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "secrets/secret.h"

namespace mesh::secrets {

inline constexpr std::size_t kCredentialRandomBytes = 48;

/// What a principal logs in with: its secret, and the hash that the bus is told.
struct Credential {
  Secret secret;     // 43 characters of base64url, no line end
  std::string hash;  // bcrypt
};

/// A credential of 48 random bytes: 32 become the secret, 16 the salt. About 1 ms. Safe to call
/// from several threads. Errors: InvalidArgument (another number of bytes).
[[nodiscard]] Result<Credential> new_credential(std::string_view random);

}  // namespace mesh::secrets
