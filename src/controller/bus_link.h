#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bus/connection.h"
#include "bus/server.h"
#include "bus/system.h"
#include "inventory/state.h"
#include "model/declarations.h"

namespace mesh::controller {

/// The controller's two connections to a bus that runs.
struct BusLink {
  bus::Connection mesh;                   // user `controller`: JetStream and every subject
  bus::Connection system;                 // user `controller.system`
  std::vector<bus::ServerState> servers;  // as they were when it was made
  std::vector<std::string> urls;          // that were dialled
  std::string ca_pem;
  std::optional<bus::ServerRecord> managed;  // the server that `mesh controller` runs
};

/// Where the record of the managed server is.
[[nodiscard]] std::string server_record_file(const inventory::StatePaths& paths);

struct BusAddress {
  std::vector<std::string> urls;
  std::optional<bus::ServerRecord> managed;
  std::string ca_pem{};  // of a managed server that speaks TLS: the mesh's own authority
};

/// Where the bus is dialled by the controller: the running managed server, or [bus] of an external
/// one. Where it is not sure whether a managed one speaks TLS (what mesh.toml declares is in force
/// only after a push, or a start), or with `ask`, that one says so itself. (Nobody stands between:
/// it is dialled on its own machine, and its process is known.) Errors: Unavailable where no
/// managed server runs, with what to start.
[[nodiscard]] Result<BusAddress> bus_address(const model::Mesh& mesh,
                                             const inventory::StatePaths& paths, bool ask = false);

/// How a principal of the records dials. `root` is the directory of mesh.toml. Errors: NotFound (no
/// credential), those of the CA's file.
[[nodiscard]] Result<bus::ConnectOptions> connect_options(
    inventory::State& state, const model::Mesh& mesh, const std::string& root,
    const BusAddress& address, const std::string& principal, const std::string& inbox);

/// How long a login, or one request, waits for the bus to answer.
inline constexpr bus::Milliseconds kBusTimeout{10'000};

/// Connects within `timeout`, and refuses servers that cannot hold what Mesh declares (older
/// than 2.10, or with the second shape of acknowledgements). Errors: Unavailable, PermissionDenied
/// (it runs with other credentials), Unsupported.
[[nodiscard]] Result<BusLink> connect_bus(inventory::State& state, const model::Mesh& mesh,
                                          const std::string& root, bus::Milliseconds timeout);

}  // namespace mesh::controller
