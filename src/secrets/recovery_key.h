#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "secrets/secret.h"
#include "secrets/signing.h"

namespace mesh::secrets {

/// The text that `mesh init` shows once: `mesh-recovery-` and seven groups of eight characters of
/// base32 (the seed and a checksum of three bytes), made to be written down by hand.
[[nodiscard]] Secret recovery_text(const SigningKey& key);

/// Reads it back; case, spaces, line ends and the dashes between groups do not matter, `0` is read
/// as `o`, `1` as `l` and `8` as `b`. Errors: InvalidArgument (not such a text; mistyped, by the
/// checksum). The message holds nothing of the text.
[[nodiscard]] Result<SigningKey> from_recovery_text(std::string_view text);

}  // namespace mesh::secrets
