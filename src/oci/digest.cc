#include "oci/digest.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <new>

#include <fmt/format.h>

#include "base/digest.h"
#include "base/text.h"

namespace mesh::oci {

namespace {

constexpr std::size_t kBriefDigits = 12;

std::size_t digits_of(Algorithm algorithm) {
  return algorithm == Algorithm::Sha256 ? 64 : 128;
}

bool is_hex_digit(char c, char a) {
  return (c >= '0' && c <= '9') || (c >= a && c <= a + 5);
}

std::unexpected<Error> bad_digest(std::string_view text, std::string why, std::string hint = {}) {
  return fail(Code::InvalidArgument,
              fmt::format("\"{}\" is not a digest: {}", printable(text, 150), std::move(why)),
              std::move(hint));
}

/// Checks what stands after the colon.
Status check_digits(std::string_view text, std::string_view digits, Algorithm algorithm) {
  const std::size_t wanted = digits_of(algorithm);
  const auto lower = [](char c) { return is_hex_digit(c, 'a'); };
  const auto either = [](char c) { return is_hex_digit(c, 'a') || is_hex_digit(c, 'A'); };
  if (!std::all_of(digits.begin(), digits.end(), either)) {
    return bad_digest(text, "after the colon only the digits 0-9 and a-f may stand");
  }
  if (digits.size() != wanted) {
    return bad_digest(text,
                      fmt::format("{} has {} hexadecimal digits, here are {}",
                                  algorithm_name(algorithm), wanted, digits.size()),
                      "copy the whole digest");
  }
  if (!std::all_of(digits.begin(), digits.end(), lower)) {
    return bad_digest(text, "its digits are not in lower case", "write a-f in lower case");
  }
  return {};
}

}  // namespace

std::string_view algorithm_name(Algorithm algorithm) {
  return algorithm == Algorithm::Sha256 ? "sha256" : "sha512";
}

Result<Digest> Digest::parse(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) {
    return bad_digest(text, "it has no algorithm", "write sha256: and 64 hexadecimal digits");
  }
  const std::string_view name = text.substr(0, colon);
  const auto known =
      name == algorithm_name(Algorithm::Sha512) ? Algorithm::Sha512 : Algorithm::Sha256;
  if (name != algorithm_name(known)) {
    return fail(Code::Unsupported,
                fmt::format("digest \"{}\" is of an algorithm that Mesh does not know: \"{}\"",
                            printable(text, 150), printable(name, 40)),
                "use sha256 (or sha512) in lower case");
  }
  MESH_CHECK(check_digits(text, text.substr(colon + 1), known));
  return Digest(known, std::string(text));
}

std::string_view Digest::hex() const {
  return std::string_view(text_).substr(algorithm_name(algorithm_).size() + 1);
}

std::string Digest::brief() const {
  return fmt::format("{}:{}", algorithm_name(algorithm_), hex().substr(0, kBriefDigits));
}

struct Hasher::State {
  State() : context(EVP_MD_CTX_new()) {
    if (context == nullptr) {
      throw std::bad_alloc();
    }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { EVP_MD_CTX_free(context); }

  EVP_MD_CTX* context;
};

Hasher::Hasher(Algorithm algorithm) : algorithm_(algorithm), state_(std::make_unique<State>()) {
  begin();
}
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;
Hasher::~Hasher() = default;

void Hasher::begin() {
  size_ = 0;
  EVP_DigestInit_ex(state_->context, algorithm_ == Algorithm::Sha256 ? EVP_sha256() : EVP_sha512(),
                    nullptr);
}

void Hasher::update(std::string_view bytes) {
  EVP_DigestUpdate(state_->context, bytes.data(), bytes.size());
  size_ += bytes.size();
}

Digest Hasher::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned int size = 0;
  EVP_DigestFinal_ex(state_->context, bytes.data(), &size);
  begin();
  return {algorithm_, fmt::format("{}:{}", algorithm_name(algorithm_),
                                  hex({reinterpret_cast<const char*>(bytes.data()), size}))};
}

Digest digest_of(std::string_view bytes, Algorithm algorithm) {
  Hasher hasher(algorithm);
  hasher.update(bytes);
  return hasher.finish();
}

}  // namespace mesh::oci
