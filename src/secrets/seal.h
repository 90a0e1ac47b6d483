#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "secrets/secret.h"

namespace mesh::secrets {

inline constexpr std::size_t kSealKeyBytes = 32;
inline constexpr std::size_t kNonceBytes = 24;

/// A symmetric key of 32 bytes.
class SealKey {
 public:
  /// Errors: InvalidArgument (not 32 bytes).
  [[nodiscard]] static Result<SealKey> from_bytes(std::string_view bytes);
  [[nodiscard]] const Secret& bytes() const { return bytes_; }
  [[nodiscard]] SealKey copy() const { return SealKey(bytes_.copy()); }

 private:
  explicit SealKey(Secret bytes) : bytes_(std::move(bytes)) {}
  Secret bytes_;
};

/// `plain` under XChaCha20-Poly1305: a version byte, the nonce, the ciphertext and its tag.
/// `belongs_to` says what the value is of (`credential/one.shop`): it is bound to the value, not
/// stored, and must be the same when it is opened, so that no sealed value can be moved to
/// another's place. `nonce` is 24 random bytes, never used twice. Errors: InvalidArgument (nonce's
/// length).
[[nodiscard]] Result<std::string> seal(const SealKey& key, std::string_view plain,
                                       std::string_view belongs_to, std::string_view nonce);

/// Opens what `seal` made. Errors: Corrupt (another key, another owner, or damaged: which of them
/// cannot be told).
[[nodiscard]] Result<Secret> open(const SealKey& key, std::string_view sealed,
                                  std::string_view belongs_to);

}  // namespace mesh::secrets
