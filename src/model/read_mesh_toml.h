#pragma once

#include "model/declarations.h"
#include "model/value.h"

namespace mesh::model {

/// What `mesh.toml` says.
struct MeshToml {
  Mesh mesh;  // modules still without their files
  /// Modules that are not in `mesh`, since their names cannot be used; the problems of their files
  /// are reported as well.
  std::vector<std::string> misnamed;
};

/// Problems go to the root's source.
[[nodiscard]] MeshToml read_mesh_toml(const Value& root);

}  // namespace mesh::model
