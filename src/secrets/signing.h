#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "secrets/secret.h"

namespace mesh::secrets {

inline constexpr std::size_t kSeedBytes = 32;
inline constexpr std::size_t kPublicKeyBytes = 32;
inline constexpr std::size_t kSignatureBytes = 64;

/// An Ed25519 public key.
class PublicKey {
 public:
  /// Errors: InvalidArgument (not 32 bytes).
  [[nodiscard]] static Result<PublicKey> from_bytes(std::string_view bytes);
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  friend auto operator<=>(const PublicKey&, const PublicKey&) = default;

 private:
  explicit PublicKey(std::string bytes) : bytes_(std::move(bytes)) {}
  friend class SigningKey;
  std::string bytes_;
};

/// An Ed25519 key pair, made from its seed of 32 random bytes.
class SigningKey {
 public:
  /// Errors: InvalidArgument (not 32 bytes).
  [[nodiscard]] static Result<SigningKey> from_seed(std::string_view seed);
  [[nodiscard]] const Secret& seed() const { return seed_; }
  [[nodiscard]] const PublicKey& public_key() const { return public_key_; }
  /// libsodium's form, the seed and the public key: 64 bytes.
  [[nodiscard]] const Secret& expanded() const { return expanded_; }
  /// 64 bytes; the same message gives the same signature.
  [[nodiscard]] std::string sign(std::string_view message) const;

 private:
  SigningKey(Secret seed, Secret expanded, PublicKey public_key)
      : seed_(std::move(seed)),
        expanded_(std::move(expanded)),
        public_key_(std::move(public_key)) {}
  Secret seed_;
  Secret expanded_;
  PublicKey public_key_;
};

/// True where `signature` is of `message` under `key`.
[[nodiscard]] bool verify(const PublicKey& key, std::string_view message,
                          std::string_view signature);

/// A mesh's id: the first 32 hexadecimal digits of the SHA-256 of its signing public key.
[[nodiscard]] std::string mesh_id(const PublicKey& signing_key);

}  // namespace mesh::secrets
