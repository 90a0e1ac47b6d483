#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "bus/connection.h"
#include "controller/steps.h"
#include "plan/change.h"

namespace mesh::controller {

/// Does what the changes say of streams, then of consumers (pipelined), and compares each answer
/// with what was asked: a server that leaves out a part of it is Unsupported, and what it made
/// wrong is taken away again. `writes` counts the requests that changed something, also where it
/// fails. Each is idempotent: a later plan finds what was done.
[[nodiscard]] Status raise(bus::Connection& mesh, std::span<const plan::Change> changes,
                           Steps& steps, std::uint64_t& writes);

/// Takes away what the changes leave behind: consumers, then streams.
[[nodiscard]] Status clean_up(bus::Connection& mesh, std::span<const plan::Change> changes,
                              Steps& steps, std::uint64_t& writes);

}  // namespace mesh::controller
