#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/managed_process.h"
#include "os/random.h"
#include "registry/server_program.h"

namespace mesh::registry {

/// Where a registry that Mesh runs keeps everything: `.mesh/registry`.
class ServerPaths {
 public:
  explicit ServerPaths(std::string root) : root_(std::move(root)) {}
  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] std::string config() const { return root_ + "/config.yml"; }
  [[nodiscard]] std::string secret() const { return root_ + "/secret"; }
  /// Who may log in (htpasswd), and what the mesh's own programs log in with (auth.json): of one
  /// beyond loopback.
  [[nodiscard]] std::string users() const { return root_ + "/users"; }
  [[nodiscard]] std::string login() const { return root_ + "/auth.json"; }
  [[nodiscard]] std::string data() const { return root_ + "/data"; }
  [[nodiscard]] std::string log() const { return root_ + "/registry.log"; }
  [[nodiscard]] std::string record() const { return root_ + "/server.json"; }
  /// Held by whoever needs the registry not to run, and while it is being started.
  [[nodiscard]] std::string lock() const { return root_ + "/lock"; }

 private:
  std::string root_;
};

struct ManagedRegistryOptions {
  RegistryProgram program;
  std::string directory;           // `.mesh/registry`
  std::string host = "127.0.0.1";  // no brackets
  int port = 5000;
  std::string mesh_id;
  /// Of one that speaks TLS and asks for a login: the file of its certificate and key, and that of
  /// the authority (`ServerPaths::users` is there). Empty: it does not.
  std::string certificate{};
  std::string ca_file{};
  os::Milliseconds ready_within{30'000};
  os::Milliseconds first_pause{1000};
  os::Milliseconds last_pause{30'000};
  std::function<void(const std::string&)> say;
};

/// Writes the configuration and runs the registry (os/managed_process.h). Errors: as there, and
/// those of the directory.
[[nodiscard]] Result<std::unique_ptr<os::ManagedProcess>> start_registry(
    ManagedRegistryOptions options, os::Random& random);

/// Ends what was started with that configuration and nobody watches any more: how many that were.
int end_servers_of(const ServerPaths& paths);

/// Asks who answers on the port, by plain HTTP, or by TLS where it wants that, and without any
/// proxy. Unavailable: nobody listens. Timeout. Conflict: no registry of the distribution project,
/// or one that `ca_file` (empty: nobody) does not vouch for. Its id is the mesh's, empty where it
/// is nobody's.
[[nodiscard]] Result<os::ServerHello> registry_hello(const std::string& host, int port,
                                                     os::Milliseconds timeout,
                                                     const std::string& ca_file = {});

}  // namespace mesh::registry
