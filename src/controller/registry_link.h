#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "controller/workspace.h"
#include "inventory/state.h"
#include "model/declarations.h"
#include "os/server_record.h"
#include "registry/access.h"
#include "registry/server.h"

namespace mesh::controller {

/// Where a managed registry keeps its files.
[[nodiscard]] registry::ServerPaths registry_paths(const inventory::StatePaths& paths);

/// True where the mesh has an image to pull or to build, or [registry] is declared.
[[nodiscard]] bool needs_registry(const model::Mesh& mesh);

/// The mesh's registry, as this machine reaches it.
struct RegistryLink {
  std::string address;  // HOST[:PORT], by which images are named
  registry::Access access;
  std::string storage;                      // of a managed one; empty where it is external
  std::optional<os::ServerRecord> managed;  // the one that `mesh controller` runs
};

/// The registry that runs. A controller that runs without one (nothing needed it when it was
/// started) is asked to start it; waiting for that ends early where `stop_fd` becomes readable. An
/// external one is not asked whether it is there. What one that asks for a login is logged in with
/// is written. Errors: Unavailable (no controller runs, or it could not start it), Interrupted.
[[nodiscard]] Result<RegistryLink> reach_registry(inventory::State& state, const model::Mesh& mesh,
                                                  const std::string& root, int stop_fd = -1);

}  // namespace mesh::controller
