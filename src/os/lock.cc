#include "os/lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <thread>

#include "base/text.h"
#include "os/clock.h"
#include "os/errno_error.h"

namespace mesh::os {
namespace {

constexpr Milliseconds kNamePatience{250};
constexpr Milliseconds kNameRetry{5};

struct flock whole_file(short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

std::optional<LockHolder> read_holder(int fd) {
  std::array<char, 512> buffer{};
  const ssize_t got = ::pread(fd, buffer.data(), buffer.size(), 0);
  if (got <= 0) {
    return std::nullopt;
  }
  const auto lines = split({buffer.data(), static_cast<std::size_t>(got)}, '\n');
  LockHolder holder;
  if (lines.size() < 3 ||
      std::from_chars(lines[0].data(), lines[0].data() + lines[0].size(), holder.pid).ec !=
          std::errc()) {
    return std::nullopt;
  }
  holder.verb = printable(lines[1], 60);
  holder.since = printable(lines[2], 40);
  return holder;
}

std::unexpected<Error> held(const std::string& path, const std::optional<LockHolder>& holder) {
  if (!holder) {
    return fail(Code::Conflict, path + " is locked by another process",
                "wait until it has ended, then do it again");
  }
  return fail(Code::Conflict,
              fmt::format("`{}` (process {}) is at work since {}", holder->verb, holder->pid,
                          holder->since),
              "wait until it has ended, then do it again");
}

Status write_holder(int fd, const std::string& path, const LockHolder& holder) {
  const std::string text = fmt::format("{}\n{}\n{}\n", holder.pid, holder.verb, holder.since);
  if (::ftruncate(fd, 0) != 0 ||
      ::pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return fail_errno(path, errno);
  }
  return {};
}

// Whoever takes the lock writes its name a moment later. Until then the file is empty, or names the
// holder before, which has ended.
bool is_named(const std::optional<LockHolder>& holder) {
  return holder && holder->pid > 0 && (::kill(holder->pid, 0) == 0 || errno == EPERM);
}

// A lock of the open file, not of the process: another thread that opens and closes the same file
// does not lose it, and what we start never has it (close on exec).
Status lock_or_name(int fd, const std::string& path) {
  const Deadline deadline(kNamePatience);
  for (;;) {
    struct flock lock = whole_file(F_WRLCK);
    if (::fcntl(fd, F_OFD_SETLK, &lock) == 0) {
      return {};
    }
    if (errno != EAGAIN && errno != EACCES) {
      return fail_errno(path, errno);
    }
    const auto holder = read_holder(fd);
    if (is_named(holder) || deadline.passed()) {
      return held(path, holder);
    }
    std::this_thread::sleep_for(kNameRetry);
  }
}

}  // namespace

Result<Lock> Lock::take(const std::string& path, const std::string& verb,
                        const std::string& since) {
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!fd.valid()) {
    return fail_errno(path, errno);
  }
  MESH_CHECK(lock_or_name(fd.get(), path));
  MESH_CHECK(write_holder(fd.get(), path, {::getpid(), verb, since}));
  return Lock(std::move(fd));
}

std::optional<LockHolder> Lock::holder(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct flock lock = whole_file(F_WRLCK);
  if (!fd.valid() || ::fcntl(fd.get(), F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) {
    return std::nullopt;
  }
  return read_holder(fd.get()).value_or(LockHolder{});
}

}  // namespace mesh::os
