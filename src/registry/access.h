#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "os/clock.h"
#include "os/random.h"

namespace mesh::registry {

/// How a registry may be reached: `[registry]` and `[upstreams."HOST"]` of mesh.toml.
struct Access {
  bool insecure = false;    // plain http is allowed; it is for loopback in any case
  std::string ca_file;      // trusted besides the system's authorities; empty: these alone
  std::string mirror;       // `HOST[:PORT]` that is asked first; empty: none
  bool direct = false;      // through no proxy: it is of this machine
  std::string auth_file{};  // holds what it is logged in with, in place of the user's own files
};

/// One request that was made of an upstream. Nothing secret: the URL has no query.
struct Asked {
  std::string method;
  std::string url;
  std::optional<int> status;  // nothing where no answer came
};

/// What the room needs of the world; all of it outlives who is given it.
struct Services {
  const os::Clock& clock;
  os::Random& random;
  /// The environment variable of that name: HOME, XDG_RUNTIME_DIR, REGISTRY_AUTH_FILE,
  /// DOCKER_CONFIG.
  std::function<std::optional<std::string>(const std::string&)> variable;
};

}  // namespace mesh::registry
