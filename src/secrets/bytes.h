#pragma once

#include <string>
#include <string_view>

namespace mesh::secrets {

// libsodium speaks unsigned char, the project speaks strings of bytes.
inline const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
inline unsigned char* bytes_of(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

}  // namespace mesh::secrets
