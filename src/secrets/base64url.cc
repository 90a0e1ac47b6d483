#include "secrets/base64url.h"

#include <cstdint>

namespace mesh::secrets {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

}  // namespace

std::string base64url(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char byte : bytes) {
    bits = (bits << 8U) | static_cast<unsigned char>(byte);
    for (count += 8; count >= 6; count -= 6) {
      out += kAlphabet[(bits >> (count - 6)) & 63U];
    }
  }
  if (count > 0) {
    out += kAlphabet[(bits << (6 - count)) & 63U];
  }
  return out;
}

Result<std::string> from_base64url(std::string_view text) {
  std::string out;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    const std::size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos) {
      return fail(Code::InvalidArgument, "not base64url: a character that does not belong to it");
    }
    bits = (bits << 6U) | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out += static_cast<char>((bits >> count) & 255U);
    }
  }
  if (count == 6 || (bits & ((1U << count) - 1U)) != 0) {
    return fail(Code::InvalidArgument, "not base64url: something is missing at its end");
  }
  return out;
}

}  // namespace mesh::secrets
