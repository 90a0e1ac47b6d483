#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "model/declarations.h"
#include "plan/change.h"

namespace mesh::plan {

/// What makes a component what it is, without where it was written: two that give the same need no
/// restart. Its environment is the merged one; a secret stands there by its name.
[[nodiscard]] nlohmann::json component_as_declared(const model::Mesh& mesh, const model::Node& node,
                                                   const model::Module& module,
                                                   const model::Component& component);

/// The nodes whose declaration changes from `before` (nullptr: there was none) to `after`, sorted
/// by name, with the components that are restarted by it as `node.module.component`.
[[nodiscard]] std::vector<Change> declaration_plan(const model::Mesh* before,
                                                   const model::Mesh& after);

}  // namespace mesh::plan
