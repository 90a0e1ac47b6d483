#pragma once

#include "os/clock.h"

namespace mesh::os {

/// Waits until `fd` is readable (or closed at its other end); true where it is, false after
/// `timeout`. Signals in between do not shorten the wait.
[[nodiscard]] bool wait_readable(int fd, Milliseconds timeout);

/// What is left of `deadline` as poll() takes it.
[[nodiscard]] int poll_milliseconds(const Deadline& deadline);

}  // namespace mesh::os
