#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace mesh::os {

using WallTime = std::chrono::sys_time<std::chrono::milliseconds>;
using Monotonic = std::chrono::steady_clock::time_point;
using Milliseconds = std::chrono::milliseconds;

/// The time, given to whoever needs it, so that a test can hold it still.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual WallTime now() const = 0;
  [[nodiscard]] virtual Monotonic monotonic() const = 0;
};

class SystemClock : public Clock {
 public:
  [[nodiscard]] WallTime now() const override;
  [[nodiscard]] Monotonic monotonic() const override;
};

/// A clock that moves only by `advance`. For tests.
class ManualClock : public Clock {
 public:
  explicit ManualClock(WallTime start) : wall_(start) {}
  [[nodiscard]] WallTime now() const override { return wall_; }
  [[nodiscard]] Monotonic monotonic() const override { return monotonic_; }
  void advance(Milliseconds by);

 private:
  WallTime wall_;
  Monotonic monotonic_{};
};

/// RFC 3339 in UTC with whole seconds: `2026-08-21T09:30:00Z`. Years 0 to 9999.
[[nodiscard]] std::string rfc3339(WallTime time);

/// The time that an RFC 3339 text with `Z` or an offset names (fractions are cut to milliseconds).
/// Errors: InvalidArgument.
[[nodiscard]] Result<WallTime> parse_rfc3339(std::string_view text);

/// A point in time by which something must be done. Time of the monotonic clock.
class Deadline {
 public:
  explicit Deadline(Milliseconds from_now);
  [[nodiscard]] bool passed() const;
  /// What is left, at least 0.
  [[nodiscard]] Milliseconds left() const;

 private:
  Monotonic at_;
};

}  // namespace mesh::os
