#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"
#include "os/fd.h"

namespace mesh::os {

/// Who holds a lock, as it stands in the lock's file.
struct LockHolder {
  pid_t pid = 0;
  std::string verb;   // `push`
  std::string since;  // RFC 3339
};

/// An exclusive lock on a file, which the kernel releases when the process ends, however it ends.
/// The file stays; what stands in it counts only while the lock is held.
class Lock {
 public:
  /// Takes the lock at once or says who has it (a holder that has not written its name yet is given
  /// a quarter of a second to do so). The file is made (mode 0600) where it is missing;
  /// a symbolic link is refused. Errors: Conflict (the message names the holder's verb, pid and
  /// since when), PermissionDenied, NotFound (no such directory), Resource.
  [[nodiscard]] static Result<Lock> take(const std::string& path, const std::string& verb,
                                         const std::string& since);

  /// Who holds the lock at this moment; nothing where nobody does. It only asks the kernel, so it
  /// never gets into the way of one who takes the lock.
  [[nodiscard]] static std::optional<LockHolder> holder(const std::string& path);

  /// Gives the lock back before the object ends.
  void release() { fd_.reset(); }

 private:
  explicit Lock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace mesh::os
