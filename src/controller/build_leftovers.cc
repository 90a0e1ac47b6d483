#include "controller/build_leftovers.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "os/files.h"

namespace mesh::controller {

namespace {

constexpr const char* kLockName = "/.lock";
constexpr int kTries = 10;

/// The paths in a folder; none where it cannot be read.
std::vector<std::string> entries_of(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    out.push_back(at->path().string());
  }
  return out;
}

/// A real folder of the caller's.
bool is_own_folder(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid();
}

}  // namespace

Result<WorkFolder> WorkFolder::make(const std::string& parent, const std::string& prefix) {
  for (int left = kTries;; --left) {
    MESH_TRY(auto path, os::make_temp_dir(parent, prefix));
    auto lock = os::Lock::take(path + kLockName, "build", "");
    if (lock) {
      return WorkFolder(std::move(path), std::move(*lock));
    }
    (void)os::remove_tree(path);
    // One that sweeps may have come in between, since the folder was nobody's.
    if (left == 0 || (lock.error().code != Code::Conflict && lock.error().code != Code::NotFound)) {
      return std::unexpected(std::move(lock).error());
    }
  }
}

WorkFolder::WorkFolder(WorkFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::exchange(other.lock_, std::nullopt)) {}

WorkFolder::~WorkFolder() {
  if (!path_.empty()) {
    (void)os::remove_tree(path_);
  }
}

void sweep_work_folders(const std::string& parent, const std::string& prefix) {
  for (const auto& path : entries_of(parent)) {
    const auto name = path.substr(path.rfind('/') + 1);
    if (!name.starts_with(prefix) || !is_own_folder(path)) {
      continue;
    }
    if (const auto lock = os::Lock::take(path + kLockName, "sweep", "")) {
      (void)os::remove_tree(path);
    }
  }
}

std::string secrets_parent(const std::string& builder_folder) {
  return os::exists("/dev/shm") ? "/dev/shm" : builder_folder + "/work";
}

void sweep_builder(const std::string& builder_folder) {
  sweep_work_folders(secrets_parent(builder_folder), kSecretsPrefix);
  for (const auto& path : entries_of(builder_folder + "/work")) {
    (void)os::remove_tree(path);
  }
  // buildah writes a secret's value beside the container that a RUN runs in.
  for (const char* driver : {"overlay", "vfs"}) {
    for (const auto& container :
         entries_of(builder_folder + "/storage/" + driver + "-containers")) {
      (void)os::remove_tree(container + "/userdata/secrets");
    }
  }
}

void sweep_builds(const std::string& builder_folder) {
  if (const auto lock = os::Lock::take(builder_folder + "/lock", "sweep", "")) {
    sweep_builder(builder_folder);
  } else {
    sweep_work_folders(secrets_parent(builder_folder), kSecretsPrefix);
  }
}

}  // namespace mesh::controller
