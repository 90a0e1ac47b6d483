#include "os/random.h"

#include <sys/random.h>

#include <cerrno>
#include <cstdlib>

namespace mesh::os {

std::string SystemRandom::bytes(std::size_t count) {
  std::string out(count, '\0');
  std::size_t have = 0;
  while (have < count) {
    const ssize_t got = ::getrandom(out.data() + have, count - have, 0);
    if (got < 0 && errno != EINTR) {
      std::abort();
    }
    have += got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  return out;
}

}  // namespace mesh::os
