#include <sys/epoll.h>

#include <iterator>

#include "host/command_units.h"
#include "os/pidfd.h"
#include "os/process_mark.h"

namespace mesh::host {

KeeperWatch::~KeeperWatch() {
  for (auto& [unit, keeper] : children_) {
    keeper.detach();
  }
}

void KeeperWatch::watch(const std::string& unit, const os::ProcessMark& keeper) {
  const std::lock_guard lock(mutex_);
  if (watched_.contains(unit)) {
    return;
  }
  // An ended one too: its descriptor is readable, and `changes` says so at once.
  auto pidfd = os::open_pidfd(keeper.pid);
  epoll_event event{};
  event.events = EPOLLIN;
  if (pidfd.valid() && ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, pidfd.get(), &event) == 0) {
    watched_.emplace(unit, std::move(pidfd));
  }
}

void KeeperWatch::forget(const std::string& unit) {
  const std::lock_guard lock(mutex_);
  watched_.erase(unit);  // a closed descriptor leaves the epoll by itself
}

void KeeperWatch::adopt(const std::string& unit, os::Process keeper) {
  const std::lock_guard lock(mutex_);
  if (const auto former = children_.find(unit); former != children_.end()) {
    // Its end was noted before another could be started; it is gone, or about to be.
    if (!former->second.poll()) {
      former->second.detach();
    }
    children_.erase(former);
  }
  children_.emplace(unit, std::move(keeper));
}

void KeeperWatch::reap() {
  const std::lock_guard lock(mutex_);
  for (auto child = children_.begin(); child != children_.end();) {
    child = child->second.poll() ? children_.erase(child) : std::next(child);
  }
}

}  // namespace mesh::host
