#pragma once

#include <string>
#include <vector>

namespace mesh::engine {

/// Where container engines listen on this machine, the preferred one first: podman's socket, then
/// docker's; of this user where it is not root, then the machine's.
[[nodiscard]] std::vector<std::string> usual_sockets();

/// The first of them that is there; the first of all where none is (so that the error names it).
[[nodiscard]] std::string usual_socket();

}  // namespace mesh::engine
