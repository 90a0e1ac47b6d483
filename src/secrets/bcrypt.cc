#include "secrets/bcrypt.h"

#include <crypt.h>
#include <sodium.h>

#include <array>
#include <memory>

namespace mesh::secrets {
namespace {

constexpr const char* kPrefix = "$2a$";
constexpr unsigned long kCost = 4;
constexpr std::size_t kLongest = 72;
constexpr std::size_t kHashLength = 60;

/// libxcrypt's working memory: 32 KiB, too much for a thread's stack; wiped, since it holds the
/// secret.
class Work {
 public:
  Work() : data_(std::make_unique<crypt_data>()) {}
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  ~Work() { ::sodium_memzero(data_.get(), sizeof(crypt_data)); }

  // An empty text where libxcrypt refuses the setting.
  std::string hash(std::string_view secret, const std::string& setting) {
    std::string terminated(secret);
    const char* hash =
        ::crypt_rn(terminated.c_str(), setting.c_str(), data_.get(), sizeof(crypt_data));
    ::sodium_memzero(terminated.data(), terminated.size());
    return hash == nullptr ? "" : hash;
  }

 private:
  std::unique_ptr<crypt_data> data_;
};

bool can_be_hashed(std::string_view secret) {
  return !secret.empty() && secret.size() <= kLongest &&
         secret.find('\0') == std::string_view::npos;
}

}  // namespace

Result<std::string> bcrypt_hash(std::string_view secret, std::string_view salt) {
  if (!can_be_hashed(secret)) {
    return fail(Code::InvalidArgument, "bcrypt takes 1 to 72 bytes without a NUL");
  }
  std::array<char, CRYPT_GENSALT_OUTPUT_SIZE> setting{};
  if (salt.size() != kBcryptSaltBytes ||
      ::crypt_gensalt_rn(kPrefix, kCost, salt.data(), static_cast<int>(salt.size()), setting.data(),
                         static_cast<int>(setting.size())) == nullptr) {
    return fail(Code::InvalidArgument, "a salt of bcrypt has 16 bytes");
  }
  std::string hash = Work().hash(secret, setting.data());
  if (hash.size() != kHashLength) {
    return fail(Code::Unsupported, "libcrypt on this machine makes no bcrypt hashes");
  }
  return hash;
}

bool bcrypt_verify(std::string_view secret, std::string_view hash) {
  if (!can_be_hashed(secret) || hash.size() != kHashLength) {
    return false;
  }
  const std::string again = Work().hash(secret, std::string(hash));
  return again.size() == kHashLength &&
         ::sodium_memcmp(again.data(), hash.data(), kHashLength) == 0;
}

}  // namespace mesh::secrets
