#pragma once

#include <string>
#include <vector>

#include "model/declarations.h"
#include "model/table.h"

namespace mesh::model {

/// Checks `after` of all components of a module: each names another component, and none waits for
/// itself by a circle. `top` is the module's file.
void check_after(const Table& top, const std::vector<Component>& components);

}  // namespace mesh::model
