#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "controller/standing.h"
#include "controller/workspace.h"

namespace mesh::controller {

enum class Health { Ok, Warning, Error };

/// One thing that was looked at. `hint` says what to do where it is not well.
struct Finding {
  std::string name;  // `bus`, `disk`, …
  Health health = Health::Ok;
  std::string message;
  std::string hint;
};

/// Looks at all that a mesh needs on this machine and at its bus; changes nothing. In a fixed
/// order.
[[nodiscard]] Result<std::vector<Finding>> check_up(inventory::State& state,
                                                    const model::Mesh& mesh,
                                                    const Location& location, os::WallTime now);

}  // namespace mesh::controller
