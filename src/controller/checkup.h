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

/// Looks at all that a mesh needs on this machine and, for at most `timeout`, at its bus; changes
/// nothing. Each check stands by itself: what cannot be looked at is said, and the rest is looked
/// at all the same. In a fixed order.
[[nodiscard]] std::vector<Finding> check_up(const Location& location, const model::Mesh& mesh,
                                            Edges edges, os::Milliseconds timeout);

}  // namespace mesh::controller
