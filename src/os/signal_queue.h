#pragma once

#include <initializer_list>
#include <optional>

#include "base/result.h"
#include "os/fd.h"

namespace mesh::os {

struct QueuedSignal {
  int number = 0;
  std::optional<int> value;  // what the sender gave with it (sigqueue), if it did
};

/// Signals that are read instead of handled (signalfd): from `open` on they do nothing else. For a
/// program of one thread; what it spawns has none of it.
class SignalQueue {
 public:
  /// Errors: Resource.
  [[nodiscard]] static Result<SignalQueue> open(std::initializer_list<int> numbers);
  /// Readable when there is one.
  [[nodiscard]] int descriptor() const { return fd_.get(); }
  /// The next, or nothing. Never waits.
  [[nodiscard]] std::optional<QueuedSignal> next();

 private:
  explicit SignalQueue(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace mesh::os
