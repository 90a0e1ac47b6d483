#include "secrets/signing.h"

#include <sodium.h>

#include "base/digest.h"
#include "secrets/bytes.h"

namespace mesh::secrets {

static_assert(kSeedBytes == crypto_sign_ed25519_SEEDBYTES);
static_assert(kPublicKeyBytes == crypto_sign_ed25519_PUBLICKEYBYTES);
static_assert(kSignatureBytes == crypto_sign_ed25519_BYTES);

Result<PublicKey> PublicKey::from_bytes(std::string_view bytes) {
  if (bytes.size() != kPublicKeyBytes) {
    return fail(Code::InvalidArgument, "a public key has 32 bytes");
  }
  return PublicKey(std::string(bytes));
}

Result<SigningKey> SigningKey::from_seed(std::string_view seed) {
  if (seed.size() != kSeedBytes) {
    return fail(Code::InvalidArgument, "a signing key's seed has 32 bytes");
  }
  std::string public_key(kPublicKeyBytes, '\0');
  std::string expanded(crypto_sign_ed25519_SECRETKEYBYTES, '\0');
  ::crypto_sign_ed25519_seed_keypair(bytes_of(public_key), bytes_of(expanded), bytes_of(seed));
  return SigningKey(Secret(seed), Secret::take(expanded), PublicKey(std::move(public_key)));
}

std::string SigningKey::sign(std::string_view message) const {
  std::string signature(kSignatureBytes, '\0');
  ::crypto_sign_ed25519_detached(bytes_of(signature), nullptr, bytes_of(message), message.size(),
                                 bytes_of(expanded_.reveal()));
  return signature;
}

bool verify(const PublicKey& key, std::string_view message, std::string_view signature) {
  return signature.size() == kSignatureBytes &&
         ::crypto_sign_ed25519_verify_detached(bytes_of(signature), bytes_of(message),
                                               message.size(), bytes_of(key.bytes())) == 0;
}

std::string mesh_id(const PublicKey& signing_key) {
  return sha256_hex(signing_key.bytes()).substr(0, 32);
}

}  // namespace mesh::secrets
