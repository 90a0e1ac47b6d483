#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "secrets/secret.h"
#include "secrets/signing.h"

namespace mesh::secrets {

/// Seals `plain` so that only the owner of `to`'s private half can open it; the sender keeps no
/// key. libsodium's sealed box, its ephemeral key pair made from `seed` (32 random bytes, never
/// used twice); Ed25519 keys are converted to X25519. Errors: InvalidArgument (seed's length, no
/// valid key).
[[nodiscard]] Result<std::string> seal_to(const PublicKey& to, std::string_view plain,
                                          std::string_view seed);

/// Errors: Corrupt (another key, or damaged).
[[nodiscard]] Result<Secret> open_sealed(const SigningKey& key, std::string_view sealed);

}  // namespace mesh::secrets
