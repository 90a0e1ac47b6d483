#include "os/signals.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "os/errno_error.h"
#include "os/poll.h"

namespace mesh::os {
namespace {

bool watch(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  return ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

Result<StopSignal> StopSignal::install() {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    ::sigaddset(&wanted, number);
  }
  ::pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
  Fd signals(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  Fd latch(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  Fd both(::epoll_create1(EPOLL_CLOEXEC));
  if (!signals.valid() || !latch.valid() || !both.valid() || !watch(both.get(), signals.get()) ||
      !watch(both.get(), latch.get())) {
    return fail_errno("cannot wait for signals", errno);
  }
  return StopSignal(std::move(signals), std::move(latch), std::move(both));
}

void StopSignal::drain() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    first_ = first_ == 0 ? static_cast<int>(info.ssi_signo) : first_;
    ++count_;
    const std::uint64_t one = 1;
    static_cast<void>(!::write(latch_.get(), &one, sizeof one));
  }
}

int StopSignal::arrived() {
  drain();
  return first_;
}

int StopSignal::count() {
  drain();
  return count_;
}

bool StopSignal::wait(Milliseconds timeout) {
  return wait_readable(fd(), timeout);
}

}  // namespace mesh::os
