#pragma once

#include <string>

#include "base/result.h"
#include "os/clock.h"
#include "os/managed_process.h"

namespace mesh::bus {

/// What a server says of itself to whoever connects, before any login.
using ServerHello = os::ServerHello;

/// Connects and reads the server's INFO. `Unavailable` where nobody listens, `Timeout`, `Conflict`
/// where what listens is no nats-server. `host` may be a wildcard address: then the loopback one is
/// dialled.
[[nodiscard]] Result<ServerHello> read_hello(const std::string& host, int port,
                                             os::Milliseconds timeout);

}  // namespace mesh::bus
