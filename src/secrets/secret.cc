#include "secrets/secret.h"

#include <sodium.h>

namespace mesh::secrets {

Secret Secret::take(std::string& bytes) {
  Secret secret{std::string_view(bytes)};
  secrets::wipe(bytes);
  return secret;
}

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this != &other) {
    wipe();
    bytes_ = std::move(other.bytes_);
    other.bytes_.clear();
  }
  return *this;
}

Secret::~Secret() {
  wipe();
}

void Secret::wipe() {
  if (!bytes_.empty()) {
    ::sodium_memzero(bytes_.data(), bytes_.size());
  }
  bytes_.clear();
}

bool Secret::equals(const Secret& other) const {
  return size() == other.size() &&
         (empty() || ::sodium_memcmp(bytes_.data(), other.bytes_.data(), size()) == 0);
}

void wipe(std::string& bytes) {
  if (!bytes.empty()) {
    ::sodium_memzero(bytes.data(), bytes.size());
  }
  bytes.clear();
}

}  // namespace mesh::secrets
