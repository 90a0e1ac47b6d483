#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/read.h"

namespace mesh::controller {

/// Where a mesh's declarations and state are. All paths are absolute.
struct Location {
  std::string root;          // the directory of mesh.toml
  std::string state;         // --state, or `.mesh` in root
  std::string shown_prefix;  // root as the operator would write it: empty, or ending in `/`

  [[nodiscard]] std::string mesh_toml() const { return root + "/mesh.toml"; }
  [[nodiscard]] std::string in_state(std::string_view path) const;
};

/// Finds mesh.toml in `directory` (absolute) or above it. `state` is absolute, where it is given.
/// Errors: InvalidArgument where there is none.
[[nodiscard]] Result<Location> locate(const std::string& directory,
                                      const std::optional<std::string>& state);

/// Reads and checks the declarations of `location` from disk.
[[nodiscard]] model::Reading read_declarations(const Location& location);

}  // namespace mesh::controller
