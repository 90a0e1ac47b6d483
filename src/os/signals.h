#pragma once

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
  [[nodiscard]] int fd() const { return both_.get(); }
  /// The number of the first signal that came, 0 before.
  [[nodiscard]] int arrived();
  /// Waits for a signal; true where one came, false after `timeout`.
  [[nodiscard]] bool wait(Milliseconds timeout);
  /// How many came: an impatient operator presses Ctrl-C again.
  [[nodiscard]] int count();

 private:
  StopSignal(Fd signals, Fd latch, Fd both)
      : signals_(std::move(signals)), latch_(std::move(latch)), both_(std::move(both)) {}
  void drain();
  Fd signals_;  // the signals that nobody has read yet
  Fd latch_;    // readable for ever once one was read
  Fd both_;     // an epoll over the two
  int first_ = 0;
  int count_ = 0;
};

}  // namespace mesh::os
