#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "broker/accounts.h"
#include "broker/compose.h"
#include "broker/principals.h"
#include "bus/server_program.h"
#include "controller/workspace.h"

namespace mesh::controller {

/// What declarations imply for the bus, before any credential.
struct BusShape {
  std::vector<broker::Principal> principals;
  std::vector<broker::Account> accounts;
  std::vector<std::string> users;  // sorted
};

[[nodiscard]] BusShape bus_shape(const model::Mesh& mesh);

/// The file's settings beside accounts. A managed server listens and stores where Mesh says; an
/// external one says so in its own file. `server` is the version that will read the file, where it
/// is known: what it does not know is left out.
[[nodiscard]] broker::ServerSettings server_settings(const model::Mesh& mesh,
                                                     const inventory::StatePaths& paths,
                                                     const std::optional<bus::Version>& server);

/// Where the certificate of a managed server that speaks TLS is.
[[nodiscard]] broker::ServerTls bus_tls(const inventory::StatePaths& paths);

/// The configuration's text; the same arguments give the same bytes. Every user needs a hash.
[[nodiscard]] Result<std::string> bus_config_text(const broker::ServerSettings& settings,
                                                  const BusShape& shape,
                                                  const inventory::Hashes& hashes);

/// Where this program lies, for bus::find_server; empty where the system does not say.
[[nodiscard]] std::string executable_directory();

}  // namespace mesh::controller
