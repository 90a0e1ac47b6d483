#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "bus/connection.h"
#include "controller/steps.h"

namespace mesh::controller {

/// Waits until the sources of these streams are at work: the server makes them after it has
/// answered (within 0.3 s, measured on 2.10 and 2.15), and what is emitted before can be missed.
/// Says so and goes on where one is not at work within a few seconds: it will be, or `status` shows
/// it.
[[nodiscard]] Status wait_for_sources(bus::Connection& mesh, std::span<const std::string> streams,
                                      Steps& steps);

}  // namespace mesh::controller
