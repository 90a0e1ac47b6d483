#pragma once

#include <string>

#include "base/result.h"
#include "os/clock.h"
#include "os/fd.h"

namespace mesh::os {

/// The address to dial for what listens on `host` (without brackets): that of this machine where it
/// is a wildcard.
[[nodiscard]] std::string dialled(const std::string& host);

/// A non-blocking TCP connection to the first address of `dialled(host)` that takes it. Errors:
/// Unavailable (nobody listens there, or not in time; no such host).
[[nodiscard]] Result<Fd> dial(const std::string& host, int port, const Deadline& deadline);

}  // namespace mesh::os
