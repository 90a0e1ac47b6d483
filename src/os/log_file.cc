#include "os/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "os/errno_error.h"
#include "os/files.h"

namespace mesh::os {

Result<LogFile> LogFile::open(const std::string& path, std::uint64_t most) {
  LogFile log(path, most);
  MESH_CHECK(log.reopen());
  return log;
}

Status LogFile::reopen() {
  fd_ = Fd(
      ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, kPrivateFile));
  struct stat info{};
  if (!fd_.valid() || ::fstat(fd_.get(), &info) != 0) {
    return fail_errno(path_, errno);
  }
  size_ = static_cast<std::uint64_t>(info.st_size);
  return {};
}

Status LogFile::rotate() {
  if (::rename(path_.c_str(), (path_ + ".1").c_str()) != 0 && errno != ENOENT) {
    return fail_errno(path_, errno);
  }
  return reopen();
}

Status LogFile::write(std::string_view bytes) {
  bytes = bytes.substr(0, most_);
  if (!fd_.valid() || size_ + bytes.size() > most_) {
    MESH_CHECK(rotate());
  }
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd_.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) {
      continue;
    }
    if (put < 0) {
      return fail_errno(path_, errno);
    }
    size_ += static_cast<std::uint64_t>(put);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

}  // namespace mesh::os
