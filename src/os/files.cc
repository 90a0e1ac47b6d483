#include "os/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "os/errno_error.h"
#include "os/fd.h"

namespace mesh::os {
namespace {

Result<std::string> read_open(int fd, const std::string& path, std::size_t most) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) {
    return fail_errno(path, errno);
  }
  if (!S_ISREG(info.st_mode)) {
    return fail(Code::InvalidArgument, path + ": is not a regular file");
  }
  std::string bytes;
  char buffer[65536];
  for (;;) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return fail_errno(path, errno);
    }
    if (got == 0) {
      return bytes;
    }
    if (bytes.size() + static_cast<std::size_t>(got) > most) {
      return fail(Code::InvalidArgument, fmt::format("{}: is larger than {} bytes", path, most));
    }
    bytes.append(buffer, static_cast<std::size_t>(got));
  }
}

// Not blocking on open: a FIFO in a file's place must not hang us.
constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

Status write_all(int fd, const std::string& path, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) {
      continue;
    }
    if (put < 0) {
      return fail_errno(path, errno);
    }
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

Status write_temporary(int fd, const std::string& path, std::string_view bytes, mode_t mode) {
  MESH_CHECK(write_all(fd, path, bytes));
  if (::fchmod(fd, mode) != 0 || ::fsync(fd) != 0) {
    return fail_errno(path, errno);
  }
  return {};
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t most) {
  const Fd fd(::open(path.c_str(), kReadFlags));
  if (!fd.valid()) {
    return fail_errno(path, errno);
  }
  return read_open(fd.get(), path, most);
}

namespace {

// Opens a file that only its owner may read.
Result<Fd> open_private(const std::string& path) {
  Fd fd(::open(path.c_str(), kReadFlags | O_NOFOLLOW));
  if (!fd.valid() && errno == ELOOP) {
    return fail(Code::PermissionDenied, path + ": is a symbolic link, and it holds a secret",
                "put the file itself there");
  }
  struct stat info{};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) {
    return fail_errno(path, errno);
  }
  if (info.st_uid != ::geteuid() && info.st_uid != 0) {
    return fail(Code::PermissionDenied, path + ": belongs to another user",
                fmt::format("chown {} {}", ::geteuid(), path));
  }
  if (S_ISREG(info.st_mode) && (info.st_mode & 077U) != 0) {
    return fail(Code::PermissionDenied, path + ": is open to other users, and it holds a secret",
                fmt::format("chmod 600 {}", path));
  }
  return fd;
}

}  // namespace

Result<std::string> read_private_file(const std::string& path, std::size_t most) {
  MESH_TRY(const Fd fd, open_private(path));
  return read_open(fd.get(), path, most);
}

Status check_private_file(const std::string& path) {
  MESH_CHECK(open_private(path));
  return {};
}

namespace {

/// Writes a whole file beside `path` and lets `place` move it there: 0, or what the kernel said.
Status write_beside(const std::string& path, std::string_view bytes, mode_t mode,
                    int (*place)(const char* temporary, const char* path)) {
  std::string temporary = path + ".new.XXXXXX";
  const Fd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd.valid()) {
    return fail_errno(path, errno);
  }
  auto written = write_temporary(fd.get(), path, bytes, mode);
  if (const int number = written ? place(temporary.c_str(), path.c_str()) : 0; number != 0) {
    written = fail_errno(path, number);
  }
  ::unlink(temporary.c_str());  // where it is not `path` by now
  MESH_CHECK(written);
  return sync_dir(dir_name(path));
}

int replace(const char* temporary, const char* path) {
  return ::rename(temporary, path) == 0 ? 0 : errno;
}

int link_once(const char* temporary, const char* path) {
  return ::link(temporary, path) == 0 || errno == EEXIST ? 0 : errno;
}

}  // namespace

Status write_file_atomic(const std::string& path, std::string_view bytes, mode_t mode) {
  return write_beside(path, bytes, mode, replace);
}

Status write_new_file(const std::string& path, std::string_view bytes, mode_t mode) {
  return write_beside(path, bytes, mode, link_once);
}

namespace {

constexpr int kMostLinks = 40;  // as the kernel follows

const char* kind_text(mode_t mode) {
  if (S_ISDIR(mode)) {
    return "a directory";
  }
  if (S_ISFIFO(mode)) {
    return "a pipe";
  }
  return S_ISSOCK(mode) ? "a socket" : "a device";
}

}  // namespace

Result<std::string> file_to_replace(const std::string& path) {
  std::string at = path;
  for (int links = 0; links < kMostLinks; ++links) {
    struct stat info{};
    if (::lstat(at.c_str(), &info) != 0) {
      return errno == ENOENT ? Result<std::string>(at) : fail_errno(path, errno);
    }
    if (S_ISREG(info.st_mode)) {
      return at;
    }
    if (!S_ISLNK(info.st_mode)) {
      return fail(
          Code::InvalidArgument,
          fmt::format("{}: is {}, and a file would take its place", path, kind_text(info.st_mode)),
          "give the name of a file");
    }
    std::error_code failed;
    const auto target = std::filesystem::read_symlink(at, failed);
    if (failed) {
      return fail_errno(path, failed.value());
    }
    at = (std::filesystem::path(dir_name(at)) / target).string();
  }
  return fail_errno(path, ELOOP);
}

bool exists(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0;
}

Status sync_dir(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || ::fsync(fd.get()) != 0) {
    return fail_errno(path, errno);
  }
  return {};
}

std::string dir_name(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) {
    return ".";
  }
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace mesh::os
