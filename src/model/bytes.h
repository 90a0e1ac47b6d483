#pragma once

#include <string_view>

#include "model/value.h"

namespace mesh::model {

/// Most parts of one dotted key. The TOML library follows each part with a call of its own, and a
/// line of a million dots would end the stack (seen with toml++ 3.3.0).
inline constexpr int kMostKeyParts = 16;

/// Checks what the TOML library does not, or not plainly: the size, NUL bytes, UTF-8 and the depth
/// of keys. Returns whether `bytes` may be parsed; reports a problem where not.
[[nodiscard]] bool check_bytes(std::string_view bytes, const Source& source);

}  // namespace mesh::model
