#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mesh::model {

/// A file to write, its path relative to the directory of `mesh.toml`.
struct TemplateFile {
  std::string path;
  std::string bytes;
};

/// The files of a mesh to begin with: one node, a module that emits and one that hears it, each run
/// by nothing but `sh`. They pass `mesh check` without a warning. `mesh_name` must be a valid name.
[[nodiscard]] std::vector<TemplateFile> starting_mesh(std::string_view mesh_name);

/// A valid mesh name near the name of a directory; `home` where nothing of it can be kept.
[[nodiscard]] std::string mesh_name_from(std::string_view directory_name);

}  // namespace mesh::model
