#include "os/pidfd.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mesh::os {

Fd open_pidfd(pid_t pid) {
  return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool signal_pidfd(int pidfd, int number) {
  return ::syscall(SYS_pidfd_send_signal, pidfd, number, nullptr, 0) == 0;
}

bool signal_pidfd(int pidfd, int number, int value) {
  siginfo_t info{};
  info.si_signo = number;
  info.si_code = SI_QUEUE;
  info.si_pid = ::getpid();
  info.si_uid = ::getuid();
  info.si_value.sival_int = value;
  return ::syscall(SYS_pidfd_send_signal, pidfd, number, &info, 0) == 0;
}

}  // namespace mesh::os
