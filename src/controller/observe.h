#pragma once

#include <map>
#include <set>
#include <span>
#include <string>

#include "base/result.h"
#include "controller/bus_link.h"
#include "controller/steps.h"
#include "plan/bus_plan.h"
#include "plan/observed.h"

namespace mesh::controller {

/// What the bus holds: a request for each 256 streams, and one for each 256 consumers of each
/// stream. Sorted. A floor of acknowledgements is never before where its consumer started.
[[nodiscard]] Result<plan::Observed> observe(bus::Connection& mesh, Steps& steps);

/// How many messages there are on the subjects that are asked about.
[[nodiscard]] Result<std::map<plan::Matching, std::uint64_t>> count_matching(
    bus::Connection& mesh, std::span<const plan::Matching> questions, Steps& steps);

/// The users that have a connection now, without the controller's own.
[[nodiscard]] Result<std::set<std::string>> connected_users(bus::Connection& system, Steps& steps);

}  // namespace mesh::controller
