#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "os/clock.h"
#include "os/fd.h"

namespace mesh::os {

/// Names one process for good: a pid alone is given to another process later. `started` is the
/// start time in clock ticks since boot (/proc/PID/stat, field 22), `boot` the kernel's boot id.
struct ProcessMark {
  pid_t pid = 0;
  std::uint64_t started = 0;
  std::string boot;
  friend bool operator==(const ProcessMark&, const ProcessMark&) = default;
};

/// The mark of a running process. Errors: NotFound.
[[nodiscard]] Result<ProcessMark> mark_of(pid_t pid);

/// A process that is not our child (a controller that another command started).
class ProcessHandle {
 public:
  /// Errors: NotFound (it has ended, or the pid is another's by now).
  [[nodiscard]] static Result<ProcessHandle> open(const ProcessMark& mark);
  /// Errors: NotFound (it has ended), PermissionDenied.
  [[nodiscard]] Status signal(int number);
  /// Waits until it has ended. Errors: Timeout.
  [[nodiscard]] Status wait_gone(Milliseconds timeout);

 private:
  explicit ProcessHandle(Fd pidfd) : pidfd_(std::move(pidfd)) {}
  Fd pidfd_;
};

}  // namespace mesh::os
