#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace mesh::inventory {

/// name -> bytes
using Archive = std::map<std::string, std::string>;

/// The archive as bytes: for each file its name's length (4 bytes), its size (8 bytes, both the
/// greatest byte first), its name, its bytes.
[[nodiscard]] std::string pack(const Archive& files);

/// Errors: Corrupt (cut off, a name twice, more than there is).
[[nodiscard]] Result<Archive> unpack(std::string_view bytes);

}  // namespace mesh::inventory
