#pragma once

#include <string>

#include "model/read.h"

namespace mesh::controller {

/// The files of a directory on disk. Symbolic links are followed; what is no regular file (a pipe,
/// a device) is never opened for waiting.
class DiskFiles : public model::Files {
 public:
  explicit DiskFiles(std::string root) : root_(std::move(root)) {}
  [[nodiscard]] Kind kind(const std::string& path) const override;
  [[nodiscard]] Result<std::string> read(const std::string& path) const override;

 private:
  std::string root_;
};

}  // namespace mesh::controller
