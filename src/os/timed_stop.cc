#include "os/timed_stop.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "os/errno_error.h"

namespace mesh::os {

namespace {

bool add_to(const Fd& both, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  return ::epoll_ctl(both.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

Result<TimedStop> TimedStop::make(int stop_fd, Milliseconds timeout) {
  Fd both(::epoll_create1(EPOLL_CLOEXEC));
  Fd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  const auto left = std::max(timeout, Milliseconds{1}).count();  // 0 would mean never
  itimerspec when{};
  when.it_value.tv_sec = left / 1000;
  when.it_value.tv_nsec = left % 1000 * 1'000'000;
  if (!both.valid() || !timer.valid() || ::timerfd_settime(timer.get(), 0, &when, nullptr) != 0 ||
      !add_to(both, timer.get()) || (stop_fd >= 0 && !add_to(both, stop_fd))) {
    return fail_errno("cannot wait with a deadline", errno);
  }
  return TimedStop(std::move(both), std::move(timer));
}

bool TimedStop::timed_out() const {
  pollfd entry{timer_.get(), POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

}  // namespace mesh::os
