#include "os/pidfd.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace mesh::os {

Fd open_pidfd(pid_t pid) {
  return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool signal_pidfd(int pidfd, int number) {
  return ::syscall(SYS_pidfd_send_signal, pidfd, number, nullptr, 0) == 0;
}

}  // namespace mesh::os
