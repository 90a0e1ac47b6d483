#include "os/folder_copy.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "os/errno_error.h"

namespace mesh::os {

namespace fs = std::filesystem;

Status copy_folder(const std::string& from, const std::string& to, const std::string& skip) {
  std::error_code code;
  fs::create_directories(to, code);
  for (auto entry = fs::directory_iterator(from, code); !code && entry != fs::directory_iterator();
       entry.increment(code)) {
    const auto& path = entry->path();
    if (path.filename() == ".git" || path == fs::path(skip)) {
      continue;
    }
    fs::copy(path, fs::path(to) / path.filename(),
             fs::copy_options::recursive | fs::copy_options::copy_symlinks |
                 fs::copy_options::overwrite_existing,
             code);
  }
  if (code) {
    return fail_errno("copying " + from, code.value());
  }
  return {};
}

Status give_folder(const std::string& path, Identity user) {
  std::error_code code;
  for (auto entry = fs::recursive_directory_iterator(path, code);
       !code && entry != fs::recursive_directory_iterator(); entry.increment(code)) {
    if (::lchown(entry->path().c_str(), user.uid, user.gid) != 0) {
      return fail_errno(entry->path().string(), errno);
    }
  }
  if (code) {
    return fail_errno(path, code.value());
  }
  return ::lchown(path.c_str(), user.uid, user.gid) == 0 ? Status{} : fail_errno(path, errno);
}

}  // namespace mesh::os
