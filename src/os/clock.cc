#include "os/clock.h"

#include <algorithm>

namespace mesh::os {

WallTime SystemClock::now() const {
  return std::chrono::time_point_cast<Milliseconds>(std::chrono::system_clock::now());
}

Monotonic SystemClock::monotonic() const {
  return std::chrono::steady_clock::now();
}

void ManualClock::advance(Milliseconds by) {
  wall_ += by;
  monotonic_ += by;
}

Deadline::Deadline(Milliseconds from_now)
    : at_(std::chrono::steady_clock::now() +
          std::clamp(from_now, Milliseconds(0), Milliseconds(std::chrono::hours(24 * 3650)))) {}

bool Deadline::passed() const {
  return left() == Milliseconds(0);
}

Milliseconds Deadline::left() const {
  const auto left = std::chrono::ceil<Milliseconds>(at_ - std::chrono::steady_clock::now());
  return std::max(left, Milliseconds(0));
}

}  // namespace mesh::os
