#pragma once

#include <sys/types.h>

#include "os/fd.h"

namespace mesh::os {

/// pidfd_open(2) and pidfd_send_signal(2), by number: glibc 2.36's <sys/pidfd.h> declares them
/// without `extern "C"`, so that C++ cannot link them. They set errno as the kernel says.
[[nodiscard]] Fd open_pidfd(pid_t pid);
[[nodiscard]] bool signal_pidfd(int pidfd, int number);
/// The same with a value beside it, which the receiver finds in the signal's information.
[[nodiscard]] bool signal_pidfd(int pidfd, int number, int value);

}  // namespace mesh::os
