#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "inventory/state.h"
#include "model/read.h"
#include "os/clock.h"
#include "os/random.h"

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

/// Reads and checks the declarations of `location` from disk, and the Containerfiles that they
/// name.
[[nodiscard]] model::Reading read_declarations(const Location& location);

/// The edges that whoever opens a state must give; they outlive it.
struct Edges {
  const os::Clock& clock;
  os::Random& random;
};

/// Called with one line for the operator.
using Say = std::function<void(std::string_view line)>;

/// Makes the state of `location` and writes it into .gitignore. Errors: as inventory::create_state.
[[nodiscard]] Result<inventory::NewState> make_state(const Location& location,
                                                     const std::string& mesh_name, Edges edges);

/// Opens the state of `location`; where there is none it is made first, and `say` is told so, with
/// the recovery key. Errors: as inventory::open_state and create_state.
[[nodiscard]] Result<inventory::State> open_state(const Location& location,
                                                  const std::string& mesh_name, Edges edges,
                                                  const Say& say);

/// What to tell whoever has just made a state; it holds the recovery key.
[[nodiscard]] std::string recovery_notice(const inventory::NewState& made);

/// Adds the state's directory to the .gitignore beside mesh.toml, where it lies below and is not
/// there yet; what stands in the file stays. True where it was added.
[[nodiscard]] Result<bool> ignore_state(const Location& location);

}  // namespace mesh::controller
