#include "secrets/sealed_box.h"

#include <sodium.h>

#include "secrets/bytes.h"

namespace mesh::secrets {
namespace {

constexpr std::size_t kKeyBytes = crypto_box_PUBLICKEYBYTES;

// The nonce of libsodium's sealed boxes: BLAKE2b of both public keys.
std::string box_nonce(std::string_view ephemeral, std::string_view to) {
  const std::string both = std::string(ephemeral) + std::string(to);
  std::string nonce(crypto_box_NONCEBYTES, '\0');
  ::crypto_generichash(bytes_of(nonce), nonce.size(), bytes_of(std::string_view(both)), both.size(),
                       nullptr, 0);
  return nonce;
}

Result<std::string> to_x25519(const PublicKey& key) {
  std::string converted(kKeyBytes, '\0');
  if (::crypto_sign_ed25519_pk_to_curve25519(bytes_of(converted), bytes_of(key.bytes())) != 0) {
    return fail(Code::InvalidArgument, "the public key is no valid point");
  }
  return converted;
}

}  // namespace

Result<std::string> seal_to(const PublicKey& to, std::string_view plain, std::string_view seed) {
  if (seed.size() != crypto_box_SEEDBYTES) {
    return fail(Code::InvalidArgument, "a sealed box takes a seed of 32 bytes");
  }
  MESH_TRY(const std::string recipient, to_x25519(to));
  std::string ephemeral(kKeyBytes, '\0');
  std::string private_half(crypto_box_SECRETKEYBYTES, '\0');
  ::crypto_box_seed_keypair(bytes_of(ephemeral), bytes_of(private_half), bytes_of(seed));
  const std::string nonce = box_nonce(ephemeral, recipient);
  std::string sealed = ephemeral;
  sealed.resize(kKeyBytes + crypto_box_MACBYTES + plain.size());
  const int result =
      ::crypto_box_easy(bytes_of(sealed) + kKeyBytes, bytes_of(plain), plain.size(),
                        bytes_of(std::string_view(nonce)), bytes_of(std::string_view(recipient)),
                        bytes_of(std::string_view(private_half)));
  wipe(private_half);
  if (result != 0) {
    return fail(Code::InvalidArgument, "nothing can be sealed to this public key");
  }
  return sealed;
}

Result<Secret> open_sealed(const SigningKey& key, std::string_view sealed) {
  if (sealed.size() < crypto_box_SEALBYTES) {
    return fail(Code::Corrupt, "a sealed box is cut off");
  }
  MESH_TRY(const std::string recipient, to_x25519(key.public_key()));
  std::string private_half(crypto_box_SECRETKEYBYTES, '\0');
  ::crypto_sign_ed25519_sk_to_curve25519(bytes_of(private_half), bytes_of(key.expanded().reveal()));
  std::string plain(sealed.size() - crypto_box_SEALBYTES, '\0');
  const int result = ::crypto_box_seal_open(bytes_of(plain), bytes_of(sealed), sealed.size(),
                                            bytes_of(std::string_view(recipient)),
                                            bytes_of(std::string_view(private_half)));
  wipe(private_half);
  if (result != 0) {
    return fail(Code::Corrupt, "a sealed box does not open: it is damaged, or the key is another");
  }
  return Secret::take(plain);
}

}  // namespace mesh::secrets
