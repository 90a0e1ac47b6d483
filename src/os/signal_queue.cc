#include "os/signal_queue.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

#include "os/errno_error.h"

namespace mesh::os {

Result<SignalQueue> SignalQueue::open(std::initializer_list<int> numbers) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : numbers) {
    ::sigaddset(&set, number);
  }
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  Fd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) {
    return fail_errno("cannot hear signals", errno);
  }
  return SignalQueue(std::move(fd));
}

std::optional<QueuedSignal> SignalQueue::next() {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) {
    return std::nullopt;
  }
  QueuedSignal signal{static_cast<int>(info.ssi_signo), std::nullopt};
  if (info.ssi_code == SI_QUEUE) {
    signal.value = info.ssi_int;
  }
  return signal;
}

}  // namespace mesh::os
