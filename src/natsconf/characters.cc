#include "natsconf/characters.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace mesh::natsconf {
namespace {

// Where each run of ten digits starts, above ASCII (Unicode 15).
constexpr std::array<std::uint32_t, 67> kZeros = {
    0x0660,  0x06f0,  0x07c0,  0x0966,  0x09e6,  0x0a66,  0x0ae6,  0x0b66,  0x0be6,  0x0c66,
    0x0ce6,  0x0d66,  0x0de6,  0x0e50,  0x0ed0,  0x0f20,  0x1040,  0x1090,  0x17e0,  0x1810,
    0x1946,  0x19d0,  0x1a80,  0x1a90,  0x1b50,  0x1bb0,  0x1c40,  0x1c50,  0xa620,  0xa8d0,
    0xa900,  0xa9d0,  0xa9f0,  0xaa50,  0xabf0,  0xff10,  0x104a0, 0x10d30, 0x11066, 0x110f0,
    0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950,
    0x11c50, 0x11d50, 0x11da0, 0x11f50, 0x16a60, 0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2,
    0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e4f0, 0x1e950, 0x1fbf0};

struct Character {
  std::uint32_t code;
  std::size_t width;
};

constexpr Character kNone{0xfffd, 1};

std::uint32_t byte_at(const char* at, std::size_t index) {
  return static_cast<unsigned char>(at[index]);
}

/// The payload of `count` continuation bytes after the first; 0xffffffff where one is missing.
std::uint32_t continued(const char* at, std::uint32_t first, std::size_t count) {
  std::uint32_t code = first;
  for (std::size_t i = 1; i <= count; ++i) {
    const std::uint32_t byte = byte_at(at, i);
    if ((byte & 0xc0U) != 0x80U) {
      return 0xffffffffU;
    }
    code = code << 6U | (byte & 0x3fU);
  }
  return code;
}

Character decode(const char* at) {
  const std::uint32_t first = byte_at(at, 0);
  if (first < 0x80) {
    return {first, 1};
  }
  if (first >= 0xc2 && first < 0xe0) {
    const std::uint32_t code = continued(at, first & 0x1fU, 1);
    return code < 0x800 ? Character{code, 2} : kNone;
  }
  if (first >= 0xe0 && first < 0xf0) {
    const std::uint32_t code = continued(at, first & 0x0fU, 2);
    const bool good = code >= 0x800 && code < 0x10000 && (code < 0xd800 || code > 0xdfff);
    return good ? Character{code, 3} : kNone;
  }
  if (first >= 0xf0 && first < 0xf5) {
    const std::uint32_t code = continued(at, first & 0x07U, 3);
    return code >= 0x10000 && code < 0x110000 ? Character{code, 4} : kNone;
  }
  return kNone;
}

bool is_wide_space(std::uint32_t code) {
  return code == 0x85 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
         code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

}  // namespace

bool is_number_suffix(char c) {
  return c != '\0' && std::string_view("kKmMgGtTpPeE").find(c) != std::string_view::npos;
}

std::size_t space_width(const char* at) {
  const auto c = static_cast<unsigned char>(*at);
  if (c < 0x80) {
    return c == ' ' || (c >= '\t' && c <= '\r') ? 1 : 0;
  }
  const Character character = decode(at);
  return is_wide_space(character.code) ? character.width : 0;
}

std::size_t digit_width(const char* at) {
  if (*at >= '0' && *at <= '9') {
    return 1;
  }
  if (static_cast<unsigned char>(*at) < 0x80) {
    return 0;
  }
  const Character character = decode(at);
  const auto* after = std::upper_bound(kZeros.begin(), kZeros.end(), character.code);
  return after != kZeros.begin() && character.code - *(after - 1) < 10 ? character.width : 0;
}

std::size_t character_width(const char* at) {
  return decode(at).width;
}

}  // namespace mesh::natsconf
