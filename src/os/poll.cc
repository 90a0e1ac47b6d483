#include "os/poll.h"

#include <poll.h>

#include <algorithm>
#include <limits>

namespace mesh::os {

int poll_milliseconds(const Deadline& deadline) {
  return static_cast<int>(
      std::min<Milliseconds::rep>(deadline.left().count(), std::numeric_limits<int>::max()));
}

bool wait_readable(int fd, Milliseconds timeout) {
  const Deadline deadline(timeout);
  pollfd entry{fd, POLLIN, 0};
  for (;;) {
    if (::poll(&entry, 1, poll_milliseconds(deadline)) > 0) {
      return true;
    }
    if (deadline.passed()) {
      return false;
    }
  }
}

}  // namespace mesh::os
