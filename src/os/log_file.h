#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/fd.h"

namespace mesh::os {

/// A log that never takes more than two files of `most` bytes: when the next piece would not fit,
/// `path` becomes `path.1` (the older one goes) and a new `path` begins. One writer.
class LogFile {
 public:
  /// Appends to what is there; mode 0600. Errors: NotFound, PermissionDenied, Resource.
  [[nodiscard]] static Result<LogFile> open(const std::string& path, std::uint64_t most);

  /// Appends `bytes`; a piece longer than `most` is cut. Errors: Resource (disk full: the piece
  /// is lost, the next is tried again).
  [[nodiscard]] Status write(std::string_view bytes);

 private:
  LogFile(std::string path, std::uint64_t most) : path_(std::move(path)), most_(most) {}
  Status reopen();
  Status rotate();
  std::string path_;
  std::uint64_t most_;
  std::uint64_t size_ = 0;
  Fd fd_;
};

}  // namespace mesh::os
