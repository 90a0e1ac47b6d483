#pragma once

#include <string>

#include "base/result.h"
#include "os/clock.h"
#include "registry/server.h"

namespace mesh::registry {

/// Ends the registry that Mesh runs, lets its program take away the bytes that no manifest needs
/// any more, and lets whoever watches it start it again: meanwhile its lock is held. Returns when
/// it answers again. An upload that is under way is lost, so callers keep those who upload out.
/// Errors: Unavailable (it does not run, or did not come back), Conflict (another holds the lock),
/// Internal (the program's own words), Timeout, Interrupted.
[[nodiscard]] Status collect_garbage(const ServerPaths& paths, os::Milliseconds timeout,
                                     int stop_fd);

}  // namespace mesh::registry
