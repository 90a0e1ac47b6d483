#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/declarations.h"
#include "model/problem.h"

namespace mesh::model {

/// Where declarations are read from: a directory, the inventory's accepted files, or a test's map.
/// Paths are relative to the directory of `mesh.toml`, with `/`, and never leave it upwards unless
/// the operator wrote so.
class Files {
 public:
  /// Unreadable: whether something is there cannot be seen, or it is a link to nothing; `read` says
  /// why.
  enum class Kind { Missing, Unreadable, File, Directory, Other };
  virtual ~Files() = default;
  /// What is at `path`; symbolic links are followed.
  [[nodiscard]] virtual Kind kind(const std::string& path) const = 0;
  /// The whole file's bytes. Errors: NotFound, PermissionDenied, InvalidArgument (larger than
  /// `kLargestFile`, or not a regular file).
  [[nodiscard]] virtual Result<std::string> read(const std::string& path) const = 0;
};

inline constexpr std::size_t kLargestFile = 4U << 20U;

struct AcceptedFile {
  std::string path;
  std::string bytes;
};

/// What reading gave: a mesh (only where no problem is an error), every problem, and every file
/// that was read, sorted by path, so that the same can be read again from the inventory.
struct Reading {
  std::optional<Mesh> mesh;
  std::vector<Problem> problems;
  std::vector<AcceptedFile> files;
};

/// Reads `mesh.toml` and all that it names, and checks it as a whole. Problems are sorted by file,
/// line and column. `shown_prefix` is put before each path in places (as the operator would write
/// it from the working directory).
[[nodiscard]] Reading read_mesh(const Files& files, std::string_view shown_prefix = {});

}  // namespace mesh::model
