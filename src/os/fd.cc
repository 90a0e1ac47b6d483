#include "os/fd.h"

#include <unistd.h>

namespace mesh::os {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Fd::reset() {
  if (fd_ >= 0) {
    // Not repeated on EINTR: on Linux the descriptor is gone either way.
    ::close(fd_);
    fd_ = -1;
  }
}

}  // namespace mesh::os
