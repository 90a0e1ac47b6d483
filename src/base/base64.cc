#include "base/base64.h"

#include <array>
#include <cstdint>

namespace mesh {

namespace {

constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNoBase64Digit = 64;

constexpr std::array<std::uint8_t, 256> base64_values() {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoBase64Digit);
  for (std::size_t i = 0; i < kBase64Digits.size(); ++i) {
    values[static_cast<unsigned char>(kBase64Digits[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}

/// The text without its padding; nothing where the padding does not fit.
std::optional<std::string_view> without_padding(std::string_view text) {
  if (text.empty() || text.back() != '=') {
    return text.size() % 4 == 1 ? std::nullopt : std::optional(text);
  }
  if (text.size() % 4 != 0) {
    return std::nullopt;
  }
  text.remove_suffix(1);
  if (text.back() == '=') {
    text.remove_suffix(1);
  }
  return text;
}

}  // namespace

std::string base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto at = [&](std::size_t j) -> std::uint32_t {
      return i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U;
    };
    const std::uint32_t three = (at(0) << 16U) | (at(1) << 8U) | at(2);
    out.push_back(kBase64Digits[three >> 18U]);
    out.push_back(kBase64Digits[(three >> 12U) & 63U]);
    out.push_back(i + 1 < bytes.size() ? kBase64Digits[(three >> 6U) & 63U] : '=');
    out.push_back(i + 2 < bytes.size() ? kBase64Digits[three & 63U] : '=');
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  static constexpr auto kValues = base64_values();
  const auto digits = without_padding(text);
  if (!digits) {
    return std::nullopt;
  }
  std::string out;
  out.reserve(digits->size() / 4 * 3 + 2);
  std::uint32_t held = 0;
  unsigned bits = 0;
  for (const char c : *digits) {
    const std::uint8_t value = kValues[static_cast<unsigned char>(c)];
    if (value == kNoBase64Digit) {
      return std::nullopt;
    }
    held = (held << 6U) | value;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out.push_back(static_cast<char>((held >> bits) & 0xFFU));
      held &= (1U << bits) - 1U;
    }
  }
  return held == 0 ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace mesh
