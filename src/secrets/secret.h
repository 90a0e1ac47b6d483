#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <vector>

namespace mesh::secrets {

/// Bytes that must not be seen: wiped when they go, moved and never copied by accident, and nothing
/// prints them (formatting one does not compile).
class Secret {
 public:
  Secret() = default;
  /// Copies `bytes`; wiping the source is the caller's (see `take`).
  explicit Secret(std::string_view bytes) : bytes_(bytes.begin(), bytes.end()) {}
  /// Copies `bytes` and wipes the source.
  [[nodiscard]] static Secret take(std::string& bytes);
  Secret(Secret&& other) noexcept : bytes_(std::move(other.bytes_)) { other.bytes_.clear(); }
  Secret& operator=(Secret&& other) noexcept;
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret();

  [[nodiscard]] Secret copy() const { return Secret(reveal()); }
  /// The bytes themselves, alive as long as the Secret. The one door: easy to find by its name.
  [[nodiscard]] std::string_view reveal() const { return {bytes_.data(), bytes_.size()}; }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  /// Compares in a time that tells nothing of the bytes (their number is no secret).
  [[nodiscard]] bool equals(const Secret& other) const;

 private:
  void wipe();
  std::vector<char> bytes_;
};

/// Overwrites `bytes` in a way that no compiler leaves out, and empties it.
void wipe(std::string& bytes);

}  // namespace mesh::secrets

template <>
struct fmt::formatter<mesh::secrets::Secret> {
  formatter() = delete;  // a secret is never printed
};
