#pragma once

#include <span>
#include <string>

#include "cli/outcome.h"
#include "plan/change.h"

namespace mesh::cli {

/// `changes` of `mesh plan --json`.
[[nodiscard]] Json changes_json(std::span<const plan::Change> changes);

/// A line for each change; the grants of a user that is new are only counted. `nothing would
/// change` where there are none.
[[nodiscard]] std::string changes_text(std::span<const plan::Change> changes);

}  // namespace mesh::cli
