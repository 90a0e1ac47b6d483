#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace mesh::oci {

/// The algorithms that the image specification registers and that registries store under.
enum class Algorithm { Sha256, Sha512 };

/// `sha256`, `sha512`.
[[nodiscard]] std::string_view algorithm_name(Algorithm algorithm);

/// What a content is named by: `sha256:` and 64 lower-case hexadecimal digits, or `sha512:` and
/// 128.
class Digest {
 public:
  /// InvalidArgument: not of the form, upper case, another length. Unsupported: another algorithm.
  [[nodiscard]] static Result<Digest> parse(std::string_view text);

  [[nodiscard]] Algorithm algorithm() const { return algorithm_; }
  [[nodiscard]] std::string_view hex() const;
  [[nodiscard]] const std::string& text() const { return text_; }
  /// The algorithm and the first 12 digits: for people, never for comparing.
  [[nodiscard]] std::string brief() const;

  friend bool operator==(const Digest& a, const Digest& b) { return a.text_ == b.text_; }
  friend auto operator<=>(const Digest& a, const Digest& b) { return a.text_ <=> b.text_; }

 private:
  Digest(Algorithm algorithm, std::string text) : algorithm_(algorithm), text_(std::move(text)) {}
  friend class Hasher;

  Algorithm algorithm_;
  std::string text_;
};

/// Hashes a stream. Moved, never copied; not for two threads at once.
class Hasher {
 public:
  explicit Hasher(Algorithm algorithm);
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;
  ~Hasher();

  void update(std::string_view bytes);
  /// Bytes since the beginning.
  [[nodiscard]] std::size_t size() const { return size_; }
  /// The digest of all bytes so far; afterwards the hasher is at the beginning again.
  [[nodiscard]] Digest finish();

 private:
  struct State;
  void begin();

  Algorithm algorithm_;
  std::size_t size_ = 0;
  std::unique_ptr<State> state_;
};

/// The digest of `bytes`.
[[nodiscard]] Digest digest_of(std::string_view bytes, Algorithm algorithm = Algorithm::Sha256);

}  // namespace mesh::oci

template <>
struct std::hash<mesh::oci::Digest> {
  std::size_t operator()(const mesh::oci::Digest& digest) const noexcept {
    return std::hash<std::string>{}(digest.text());
  }
};
