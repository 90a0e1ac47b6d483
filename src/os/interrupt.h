#pragma once

#include <atomic>

namespace mesh::os {

/// Whether the operator asked to stop. One is made in main and lent to whoever waits; waiting code
/// puts `descriptor()` beside its own in poll(2).
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  [[nodiscard]] bool requested() const { return requested_.load(); }
  /// Readable from the first request on; owned by this object.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// May be called in a signal handler and from any thread.
  void request();

 private:
  int descriptor_ = -1;  // an eventfd
  std::atomic<bool> requested_{false};
};

/// What SIGINT and SIGTERM do from now on. SIGPIPE is ignored with either.
enum class OnSignal {
  Request,  // ask `interrupt`; a second SIGINT ends the process with 130 at once
  Exit,     // SIGINT ends the process with 130; SIGTERM as the system has it
};

/// `interrupt` must live until the process ends. Call it before any thread is started.
void watch_signals(Interrupt& interrupt, OnSignal what);

}  // namespace mesh::os
