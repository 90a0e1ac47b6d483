#pragma once

#include "base/result.h"
#include "os/clock.h"
#include "os/fd.h"

namespace mesh::os {

/// A descriptor that becomes readable when another one does, or when a time is over: for work of
/// many parts that each watch one descriptor.
class TimedStop {
 public:
  /// `stop_fd` is borrowed, -1: there is none. Errors: Resource (no descriptors left).
  [[nodiscard]] static Result<TimedStop> make(int stop_fd, Milliseconds timeout);

  [[nodiscard]] int descriptor() const { return both_.get(); }
  /// Whether the time is over.
  [[nodiscard]] bool timed_out() const;

 private:
  TimedStop(Fd both, Fd timer) : both_(std::move(both)), timer_(std::move(timer)) {}
  Fd both_;  // epoll(7): readable while one of the others is
  Fd timer_;
};

}  // namespace mesh::os
