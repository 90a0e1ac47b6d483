#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace mesh::secrets {

inline constexpr std::size_t kBcryptSaltBytes = 16;

/// The bcrypt hash of `secret` at cost 4, `$2a$04$…`, as nats-server 2.9 to 2.15 accepts it for a
/// user's password. The cost is the least there is, since the server checks every connected user at
/// each reload and the secrets are 256 random bits (docs/decisions/0002-bcrypt-cost.md). `salt` is
/// 16 random bytes. Errors: InvalidArgument (the salt's length; a secret that is empty, holds a NUL
/// or is longer than 72 bytes, which bcrypt would cut).
[[nodiscard]] Result<std::string> bcrypt_hash(std::string_view secret, std::string_view salt);

/// True where `hash` is a bcrypt hash of `secret`.
[[nodiscard]] bool bcrypt_verify(std::string_view secret, std::string_view hash);

}  // namespace mesh::secrets
