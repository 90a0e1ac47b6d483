#include "secrets/seal.h"

#include <sodium.h>

#include "secrets/bytes.h"

namespace mesh::secrets {
namespace {

constexpr char kVersion = 1;
constexpr std::size_t kTagBytes = crypto_aead_xchacha20poly1305_ietf_ABYTES;
static_assert(kSealKeyBytes == crypto_aead_xchacha20poly1305_ietf_KEYBYTES);
static_assert(kNonceBytes == crypto_aead_xchacha20poly1305_ietf_NPUBBYTES);

}  // namespace

Result<SealKey> SealKey::from_bytes(std::string_view bytes) {
  if (bytes.size() != kSealKeyBytes) {
    return fail(Code::InvalidArgument, "a sealing key has 32 bytes");
  }
  return SealKey(Secret(bytes));
}

Result<std::string> seal(const SealKey& key, std::string_view plain, std::string_view belongs_to,
                         std::string_view nonce) {
  if (nonce.size() != kNonceBytes) {
    return fail(Code::InvalidArgument, "a nonce has 24 bytes");
  }
  std::string sealed(1, kVersion);
  sealed += nonce;
  const std::size_t head = sealed.size();
  sealed.resize(head + plain.size() + kTagBytes);
  ::crypto_aead_xchacha20poly1305_ietf_encrypt(
      bytes_of(sealed) + head, nullptr, bytes_of(plain), plain.size(), bytes_of(belongs_to),
      belongs_to.size(), nullptr, bytes_of(nonce), bytes_of(key.bytes().reveal()));
  return sealed;
}

Result<Secret> open(const SealKey& key, std::string_view sealed, std::string_view belongs_to) {
  constexpr std::size_t kHead = 1 + kNonceBytes;
  if (sealed.size() < kHead + kTagBytes || sealed[0] != kVersion) {
    return fail(Code::Corrupt, "a sealed value is damaged");
  }
  const std::string_view nonce = sealed.substr(1, kNonceBytes);
  const std::string_view body = sealed.substr(kHead);
  std::string plain(body.size() - kTagBytes, '\0');
  const int result = ::crypto_aead_xchacha20poly1305_ietf_decrypt(
      bytes_of(plain), nullptr, nullptr, bytes_of(body), body.size(), bytes_of(belongs_to),
      belongs_to.size(), bytes_of(nonce), bytes_of(key.bytes().reveal()));
  if (result != 0) {
    return fail(Code::Corrupt,
                "a sealed value does not open: it is damaged, or the key is another");
  }
  return Secret::take(plain);
}

}  // namespace mesh::secrets
