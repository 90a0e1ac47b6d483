#include "secrets/recovery_key.h"

#include <cstdint>

#include "base/digest.h"
#include "secrets/bytes.h"

namespace mesh::secrets {
namespace {

constexpr std::string_view kRecoveryPrefix = "mesh-recovery-";
constexpr std::string_view kBase32 = "abcdefghijklmnopqrstuvwxyz234567";
constexpr std::size_t kCheckHexDigits = 6;
constexpr std::size_t kGroup = 8;
constexpr std::size_t kCharacters = 56;  // 35 bytes

std::string check_of(std::string_view seed) {
  return sha256_hex(std::string("mesh-recovery") + std::string(seed)).substr(0, kCheckHexDigits);
}

char digit_pair(std::string_view hex_digits) {
  constexpr std::string_view kHex = "0123456789abcdef";
  return static_cast<char>(kHex.find(hex_digits[0]) * 16 + kHex.find(hex_digits[1]));
}

std::string to_base32(std::string_view bytes) {
  std::string out;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char byte : bytes) {
    bits = (bits << 8U) | static_cast<unsigned char>(byte);
    for (count += 8; count >= 5; count -= 5) {
      out += kBase32[(bits >> (count - 5)) & 31U];
    }
  }
  return out;
}

std::string from_base32(std::string_view digits) {
  std::string out;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : digits) {
    bits = (bits << 5U) | static_cast<std::uint32_t>(kBase32.find(c));
    count += 5;
    if (count >= 8) {
      count -= 8;
      out += static_cast<char>((bits >> count) & 255U);
    }
  }
  return out;
}

// What a hand or a screen may have changed is put right; a NUL stands for what cannot be.
char plain_digit(char c) {
  if (c >= 'A' && c <= 'Z') {
    c = static_cast<char>(c - 'A' + 'a');
  }
  c = c == '0' ? 'o' : c;
  c = c == '1' ? 'l' : c;
  c = c == '8' ? 'b' : c;
  return kBase32.find(c) == std::string_view::npos ? '\0' : c;
}

std::unexpected<Error> no_key(const char* why) {
  return fail(Code::InvalidArgument, why,
              "give the whole line that `mesh init` showed, beginning with mesh-recovery-");
}

// Letters without their separators, the prefix removed.
Result<std::string> digits_of(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c == '-' || c == ' ' || c == '\n' || c == '\r' || c == '\t') {
      continue;
    }
    const char digit = plain_digit(c);
    if (digit == '\0' || digits.size() > 2 * kCharacters) {
      wipe(digits);
      return no_key("this is no recovery key");
    }
    digits += digit;
  }
  constexpr std::string_view kWord = "meshrecovery";
  if (!digits.starts_with(kWord)) {
    wipe(digits);
    return no_key("this is no recovery key");
  }
  std::string rest = digits.substr(kWord.size());
  wipe(digits);
  return rest;
}

}  // namespace

Secret recovery_text(const SigningKey& key) {
  const std::string_view seed = key.seed().reveal();
  std::string bytes(seed);
  const std::string check = check_of(seed);
  for (std::size_t i = 0; i < check.size(); i += 2) {
    bytes += digit_pair(std::string_view(check).substr(i, 2));
  }
  std::string digits = to_base32(bytes);
  std::string text(kRecoveryPrefix);
  for (std::size_t i = 0; i < digits.size(); i += kGroup) {
    text += (i == 0 ? "" : "-") + digits.substr(i, kGroup);
  }
  wipe(bytes);
  wipe(digits);
  return Secret::take(text);
}

Result<SigningKey> from_recovery_text(std::string_view text) {
  MESH_TRY(std::string digits, digits_of(text));
  const bool whole = digits.size() == kCharacters;
  std::string bytes = whole ? from_base32(digits) : std::string(kSeedBytes, '\0');
  wipe(digits);
  const std::string_view all = bytes;
  const bool right = whole && hex(all.substr(kSeedBytes)) == check_of(all.substr(0, kSeedBytes));
  auto key = SigningKey::from_seed(all.substr(0, kSeedBytes));
  wipe(bytes);
  if (!right) {
    return no_key("the recovery key is mistyped or not whole");
  }
  return key;
}

}  // namespace mesh::secrets
