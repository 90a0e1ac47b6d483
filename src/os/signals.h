#pragma once

#include <atomic>

#include "base/result.h"
#include "os/clock.h"
#include "os/fd.h"

namespace mesh::os {

/// SIGINT, SIGTERM and SIGHUP as a descriptor that becomes readable, instead of handlers. Made
/// once, in main before any thread, since threads inherit the mask.
class StopSignal {
 public:
  /// Errors: Unavailable (no descriptors left).
  [[nodiscard]] static Result<StopSignal> install();

  /// Readable from the first signal on, and stays so: put it into poll(), or into
  /// `RunOptions::stop_fd`.
  [[nodiscard]] int fd() const { return fd_.get(); }
  /// The number of the first signal that came, 0 before.
  [[nodiscard]] int arrived();
  /// Waits for a signal; true where one came, false after `timeout`.
  [[nodiscard]] bool wait(Milliseconds timeout);
  /// How many came: an impatient operator presses Ctrl-C again.
  [[nodiscard]] int count();

 private:
  explicit StopSignal(Fd signals, Fd event) : signals_(std::move(signals)), fd_(std::move(event)) {}
  void drain();
  Fd signals_;
  Fd fd_;
  int first_ = 0;
  int count_ = 0;
};

}  // namespace mesh::os
