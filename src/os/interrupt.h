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

  /// For a process that has others to end: from now on a second signal does not end it where it
  /// stands. It goes on with its end, and sees by `insisted` that it is to be quick about it.
  void finish_in_order() { in_order_.store(true); }
  [[nodiscard]] bool in_order() const { return in_order_.load(); }
  /// Whether it was asked for more than once.
  [[nodiscard]] bool insisted() const { return insisted_.load(); }

 private:
  int descriptor_ = -1;  // an eventfd
  std::atomic<bool> requested_{false};
  std::atomic<bool> insisted_{false};
  std::atomic<bool> in_order_{false};
};

/// What SIGINT and SIGTERM do from now on. SIGPIPE is ignored with either.
enum class OnSignal {
  Request,  // they, and SIGHUP, ask `interrupt`; a second one ends the process with 130 at once,
            // unless it is to `finish_in_order`
  Exit,     // SIGINT ends the process with 130; SIGTERM as the system has it
};

/// `interrupt` must live until the process ends. Call it before any thread is started.
void watch_signals(Interrupt& interrupt, OnSignal what);

}  // namespace mesh::os
