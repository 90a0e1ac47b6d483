#pragma once

#include <span>
#include <string>

#include "cli/outcome.h"
#include "controller/planning.h"
#include "plan/change.h"

namespace mesh::cli {

/// `changes` of `mesh plan --json`.
[[nodiscard]] Json changes_json(std::span<const plan::Change> changes);

/// A line for each change; the grants of a user that is new are only counted. `nothing would
/// change` where there are none.
[[nodiscard]] std::string changes_text(std::span<const plan::Change> changes);

/// `after_restart` of `mesh plan --json` and `mesh push --json`: `[{"name","now","then"}]`.
[[nodiscard]] Json after_restart_json(std::span<const controller::AfterRestart> settings);

/// A line for each of them, as a remark.
[[nodiscard]] std::string after_restart_text(std::span<const controller::AfterRestart> settings);

}  // namespace mesh::cli
