#pragma once

#include <span>
#include <string>
#include <string_view>

#include "model/read.h"
#include "plan/change.h"
#include "plan/observed.h"

namespace mesh::plan {

/// The name of one plan: SHA-256, as hexadecimal digits, over the declarations, what the bus holds
/// (configurations, not counters), the configuration in force, the changes themselves with their
/// numbers, and `contents`: what else decides what will run, a line each (what would be built of
/// what, which images run, what each node is told). The same digest means that a push does what the
/// plan said.
[[nodiscard]] std::string plan_digest(std::span<const model::AcceptedFile> files,
                                      const Observed& observed, std::string_view config_in_force,
                                      std::span<const Change> changes,
                                      std::span<const std::string> contents);

}  // namespace mesh::plan
