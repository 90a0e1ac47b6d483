#pragma once

#include <cstddef>
#include <string>

namespace mesh::os {

/// Randomness, given to whoever needs it, so that a test can repeat it.
class Random {
 public:
  virtual ~Random() = default;
  /// `count` random bytes.
  [[nodiscard]] virtual std::string bytes(std::size_t count) = 0;
};

/// The kernel's generator (getrandom). A machine that has none ends the process: nothing that Mesh
/// makes would be safe there. Safe to use from several threads.
class SystemRandom : public Random {
 public:
  [[nodiscard]] std::string bytes(std::size_t count) override;
};

}  // namespace mesh::os
