#pragma once

#include <string>

#include "base/result.h"
#include "os/clock.h"
#include "registry/server.h"

namespace mesh::registry {

/// Ends the registry that Mesh runs, lets its program take away the bytes that no manifest needs
/// any more, and lets whoever watches it start it again: meanwhile its lock is held. Returns when
/// it answers again. An upload that is under way is lost, so callers keep those who upload out.
/// `ca_file` vouches for one that speaks TLS. Errors: Unavailable (it does not run, or did not come
/// back), Conflict (another holds the lock), Internal (the program's own words), Timeout,
/// Interrupted.
[[nodiscard]] Status collect_garbage(const ServerPaths& paths, const std::string& ca_file,
                                     os::Milliseconds timeout, int stop_fd);

/// Ends the registry that runs, in order; whoever watches it starts it again. Nothing to do where
/// none runs.
[[nodiscard]] Status end_server(const ServerPaths& paths);

/// The same, and returns when it answers again: it reads its certificate only when it starts.
/// Errors: as above.
[[nodiscard]] Status restart_server(const ServerPaths& paths, const std::string& ca_file,
                                    int stop_fd);

}  // namespace mesh::registry
