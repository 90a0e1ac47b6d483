#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "os/lock.h"

namespace mesh::controller {

/// A folder that goes with the object. It is locked as long as the object lives, so that what a
/// killed process left behind can be told from what a living one uses.
class WorkFolder {
 public:
  /// A new folder in `parent`, its name beginning with `prefix`. Errors: PermissionDenied,
  /// Resource.
  [[nodiscard]] static Result<WorkFolder> make(const std::string& parent,
                                               const std::string& prefix);
  WorkFolder(WorkFolder&& other) noexcept;
  WorkFolder& operator=(WorkFolder&&) = delete;
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  WorkFolder(std::string path, os::Lock lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  std::optional<os::Lock> lock_;
};

/// Removes the folders of the caller's in `parent` that begin with `prefix` and that no living
/// process holds. Others' are left alone, and what cannot be removed is.
void sweep_work_folders(const std::string& parent, const std::string& prefix);

/// Where the values of build secrets stand while buildah reads them, and the folders' prefix. They
/// are on no disk where there is memory to hold them.
[[nodiscard]] std::string secrets_parent(const std::string& builder_folder);
inline constexpr const char* kSecretsPrefix = "mesh-build-";

/// Removes what killed builds left: secrets' values, copies of contexts, and buildah's own copies
/// of secrets in its storage. The caller holds the lock of the builder's folder.
void sweep_builder(const std::string& builder_folder);

/// The same where nobody builds at the moment; secrets' values in memory always.
void sweep_builds(const std::string& builder_folder);

}  // namespace mesh::controller
