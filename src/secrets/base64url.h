#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace mesh::secrets {

/// Base64 with `-` and `_` and without padding (RFC 4648 section 5): 32 bytes become 43 characters.
[[nodiscard]] std::string base64url(std::string_view bytes);

/// Errors: InvalidArgument (another character, an impossible length, padding, loose bits at the
/// end: each text has one reading and each value one text).
[[nodiscard]] Result<std::string> from_base64url(std::string_view text);

}  // namespace mesh::secrets
