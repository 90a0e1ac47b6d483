#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "controller/workspace.h"
#include "inventory/state.h"
#include "model/declarations.h"
#include "os/managed_process.h"

namespace mesh::controller {

/// Runs the mesh's registry as a part of the controller: from the beginning where the mesh needs
/// one, or as soon as a verb asks for it. All that is given is borrowed.
class RegistryKeeper {
 public:
  RegistryKeeper(inventory::State& state, const Location& location, Edges edges, Say say);
  RegistryKeeper(const RegistryKeeper&) = delete;
  RegistryKeeper& operator=(const RegistryKeeper&) = delete;
  ~RegistryKeeper();

  /// Starts it where `mesh` needs a managed one, or takes over the one of an earlier run. Errors:
  /// Conflict (the port is another's), NotFound and Unsupported (no fit docker-registry),
  /// Unavailable.
  [[nodiscard]] Status begin(const model::Mesh& mesh);
  /// Starts it where it was asked for, as mesh.toml says now. What goes wrong is said, and told to
  /// who asked.
  void tick();
  /// Its orderly end. Twice is once.
  [[nodiscard]] Status stop();

  [[nodiscard]] std::optional<os::ServerRecord> record() const;

 private:
  [[nodiscard]] Status start(const model::Mesh& mesh);
  [[nodiscard]] Status start_as_declared();

  inventory::State& state_;
  Location location_;
  Edges edges_;
  Say say_;
  std::unique_ptr<os::ManagedProcess> server_;
};

/// Asks the keeper of a controller in another process to start the registry.
[[nodiscard]] Status ask_keeper(const inventory::StatePaths& paths);
/// Why it could not, since it was asked last.
[[nodiscard]] Result<std::optional<std::string>> keeper_failed(const inventory::StatePaths& paths);

}  // namespace mesh::controller
