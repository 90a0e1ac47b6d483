#include "controller/disk_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "os/errno_error.h"

namespace mesh::controller {

namespace {

/// A descriptor that is closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) {
      close(value_);
    }
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return value_; }

 private:
  int value_;
};

Code code_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return Code::NotFound;
    case EACCES:
    case EPERM:
      return Code::PermissionDenied;
    default:
      return Code::InvalidArgument;
  }
}

std::string hint_of(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
      return "whoever runs mesh must be allowed to read it, and to pass (x) each folder above it";
    case ELOOP:
      return "its symbolic links lead in a circle";
    case ENOTDIR:
      return "what stands above it is a file, not a folder";
    default:
      return {};
  }
}

std::unexpected<Error> refused(const std::string& path, int error) {
  auto out = os::errno_error(fmt::format("{} cannot be read", path), error);
  out.code = code_of(error);
  out.hint = hint_of(error);
  return std::unexpected(std::move(out));
}

bool is_link(const std::string& path) {
  struct stat found{};
  return lstat(path.c_str(), &found) == 0 && S_ISLNK(found.st_mode);
}

/// Why `path` (in full: `whole`) could not be opened. A link to nothing is there, and what it leads
/// to is not.
std::unexpected<Error> not_opened(const std::string& path, const std::string& whole, int error) {
  if (error == ENOENT && is_link(whole)) {
    return fail(Code::InvalidArgument,
                fmt::format("{} is a symbolic link to something that does not exist", path),
                "make what it leads to, or let the link lead elsewhere");
  }
  return refused(path, error);
}

std::string full_path(const std::string& root, const std::string& path) {
  return path.starts_with('/') ? path : root + "/" + path;
}

/// Reads to the end; a file may grow or shrink while it is read.
Result<std::string> read_descriptor(int descriptor, const std::string& path, std::size_t expected) {
  std::string bytes(std::min(expected, model::kLargestFile) + 1, '\0');
  std::size_t size = 0;
  while (size <= model::kLargestFile) {
    const auto got = read(descriptor, bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return refused(path, errno);
    }
    if (got == 0) {
      bytes.resize(size);
      return bytes;
    }
    size += static_cast<std::size_t>(got);
    bytes.resize(size == bytes.size() ? size * 2 : bytes.size());
  }
  return fail(Code::InvalidArgument,
              fmt::format("{} is larger than {} MiB", path, model::kLargestFile >> 20U));
}

}  // namespace

model::Files::Kind DiskFiles::kind(const std::string& path) const {
  struct stat found{};
  const auto whole = full_path(root_, path);
  if (stat(whole.c_str(), &found) != 0) {
    return errno == ENOENT && !is_link(whole) ? Kind::Missing : Kind::Unreadable;
  }
  if (S_ISREG(found.st_mode)) {
    return Kind::File;
  }
  return S_ISDIR(found.st_mode) ? Kind::Directory : Kind::Other;
}

Result<std::string> DiskFiles::read(const std::string& path) const {
  // Without O_NONBLOCK opening a pipe would wait for its writer.
  const auto whole = full_path(root_, path);
  const Descriptor file(open(whole.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    return not_opened(path, whole, errno);
  }
  struct stat found{};
  if (fstat(file.get(), &found) != 0) {
    return refused(path, errno);
  }
  if (!S_ISREG(found.st_mode)) {
    return fail(Code::InvalidArgument,
                fmt::format("{} is {}, not a file", path,
                            S_ISDIR(found.st_mode) ? "a folder" : "something else"));
  }
  return read_descriptor(file.get(), path, static_cast<std::size_t>(found.st_size));
}

}  // namespace mesh::controller
