#include "engine/sockets.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

namespace mesh::engine {

std::vector<std::string> usual_sockets() {
  std::vector<std::string> out;
  if (::geteuid() != 0) {
    const char* runtime = std::getenv("XDG_RUNTIME_DIR");
    const std::string own = runtime != nullptr && *runtime == '/'
                                ? std::string(runtime)
                                : fmt::format("/run/user/{}", ::geteuid());
    out.push_back(own + "/podman/podman.sock");
    out.push_back(own + "/docker.sock");
  }
  out.emplace_back("/run/podman/podman.sock");
  out.emplace_back("/var/run/docker.sock");
  return out;
}

std::string usual_socket() {
  const auto all = usual_sockets();
  const auto there = std::ranges::find_if(all, [](const std::string& path) {
    struct stat info{};
    return ::stat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode);
  });
  return there == all.end() ? all.front() : *there;
}

}  // namespace mesh::engine
