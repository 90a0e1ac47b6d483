#pragma once

#include <string>

#include "base/result.h"
#include "os/clock.h"

namespace mesh::bus {

/// What a server says of itself to whoever connects, before any login.
struct ServerHello {
  std::string id;
  std::string version;
};

/// Connects and reads the server's INFO. `Unavailable` where nobody listens, `Timeout`, `Conflict`
/// where what listens is no nats-server. `host` may be a wildcard address: then the loopback one is
/// dialled.
[[nodiscard]] Result<ServerHello> read_hello(const std::string& host, int port,
                                             os::Milliseconds timeout);

/// The address to dial for what listens on `host`.
[[nodiscard]] std::string dialled(const std::string& host);

}  // namespace mesh::bus
