#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "os/errno_error.h"
#include "os/fd.h"
#include "os/files.h"

namespace mesh::os {
namespace {

bool is_dir(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};
using Dir = std::unique_ptr<DIR, CloseDir>;

// The names in the directory, read whole first: removing while reading is not defined.
Result<std::vector<std::string>> names_in(int parent, const std::string& name,
                                          const std::string& shown, Fd& kept) {
  Fd fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) {
    return fail_errno(shown, errno);
  }
  kept = Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  const Dir dir(::fdopendir(fd.get()));
  if (!kept.valid() || dir == nullptr) {
    return fail_errno(shown, errno);
  }
  static_cast<void>(fd.release());  // closedir closes it
  std::vector<std::string> names;
  // readdir is safe: the stream is this function's own.
  while (const dirent* entry = ::readdir(dir.get())) {  // NOLINT(concurrency-mt-unsafe)
    const std::string entry_name = static_cast<const char*>(entry->d_name);
    if (entry_name != "." && entry_name != "..") {
      names.push_back(entry_name);
    }
  }
  return names;
}

// By descriptors and never by path, so that nobody can slip a symbolic link in between.
Status remove_at(int parent, const std::string& name, const std::string& shown) {
  if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) {
    return {};
  }
  if (errno != EISDIR && errno != EPERM) {
    return fail_errno(shown, errno);
  }
  Fd dir;
  MESH_TRY(const auto names, names_in(parent, name, shown, dir));
  for (const std::string& inner : names) {
    MESH_CHECK(remove_at(dir.get(), inner, fmt::format("{}/{}", shown, inner)));
  }
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
    return fail_errno(shown, errno);
  }
  return {};
}

Status close_to_others(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info{};
  if (!fd.valid() && (errno == ENOTDIR || errno == ELOOP)) {
    return fail(Code::InvalidArgument, path + ": is not a directory");
  }
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) {
    return fail_errno(path, errno);
  }
  if (info.st_uid != ::geteuid()) {
    return fail(Code::PermissionDenied, path + ": belongs to another user",
                fmt::format("chown {} {}", ::geteuid(), path));
  }
  if ((info.st_mode & 077U) != 0 && ::fchmod(fd.get(), kPrivateDir) != 0) {
    return fail_errno(path, errno);
  }
  return {};
}

}  // namespace

Status make_dirs(const std::string& path, mode_t mode) {
  if (is_dir(path)) {
    return {};
  }
  const std::string parent = dir_name(path);
  if (parent != path && parent != ".") {
    MESH_CHECK(make_dirs(parent, mode));
  }
  if (::mkdir(path.c_str(), mode) != 0 && (errno != EEXIST || !is_dir(path))) {
    return errno == EEXIST ? fail(Code::InvalidArgument, path + ": is not a directory")
                           : fail_errno(path, errno);
  }
  return {};
}

Status make_private_dir(const std::string& path) {
  const std::string parent = dir_name(path);
  if (parent != path && parent != ".") {
    MESH_CHECK(make_dirs(parent));
  }
  if (::mkdir(path.c_str(), kPrivateDir) == 0) {
    return {};
  }
  return errno == EEXIST ? close_to_others(path) : Status(fail_errno(path, errno));
}

Status remove_tree(const std::string& path) {
  return remove_at(AT_FDCWD, path, path);
}

bool is_empty_dir(const std::string& path) {
  Fd dir;
  const auto names = names_in(AT_FDCWD, path, path, dir);
  return names && names->empty();
}

Result<std::string> make_temp_dir(const std::string& parent, const std::string& prefix) {
  std::string path = parent + "/" + prefix + "XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    return fail_errno(path, errno);
  }
  return path;
}

}  // namespace mesh::os
