#pragma once

#include <string>

#include "base/result.h"
#include "os/clock.h"
#include "registry/access.h"

namespace mesh::registry {

/// The URL at which `domain` (HOST[:PORT]) answers as a registry, whether or not it asks for a
/// login; one request for each scheme that `access` allows. Errors: Unavailable (it cannot be
/// reached, or not in time), Conflict (it is no registry).
[[nodiscard]] Result<std::string> probe(const os::Clock& clock, const std::string& domain,
                                        const Access& access, os::Milliseconds timeout);

}  // namespace mesh::registry
