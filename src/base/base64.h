#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mesh {

/// `bytes` in base 64 with padding (RFC 4648 section 4).
[[nodiscard]] std::string base64(std::string_view bytes);

/// The bytes of a base 64 text, with its padding or with none of it; nothing where it is not one
/// (other characters, white space, a length that cannot be, bits that no byte uses).
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace mesh
