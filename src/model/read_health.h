#pragma once

#include <string>
#include <vector>

#include "model/declarations.h"
#include "model/table.h"

namespace mesh::model {

/// `health = { … }` of a component.
[[nodiscard]] std::optional<Health> read_health(const Table& table);

}  // namespace mesh::model
