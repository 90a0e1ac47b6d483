#pragma once

#include <string>

namespace mesh::test {

/// Gives this process, before it has threads, and all that it starts a network of their own: the
/// loopback one, and `address` (IPv4) beyond it. It goes with them. False where the system does not
/// let us (not root).
[[nodiscard]] bool enter_own_network(const std::string& address);

}  // namespace mesh::test
