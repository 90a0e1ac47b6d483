#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "bus/server.h"
#include "controller/workspace.h"
#include "inventory/state.h"
#include "model/declarations.h"
#include "os/lock.h"
#include "os/process_mark.h"

namespace mesh::controller {

/// What run/controller.json holds, so that other verbs find the controller.
struct ControllerRecord {
  os::ProcessMark mark;
  std::string since;  // RFC 3339
};

/// Held for as long as a controller runs, starts or ends: run/controller.lock.
[[nodiscard]] std::string controller_lock_file(const inventory::StatePaths& paths);

/// The controller that runs for this state, or nothing.
[[nodiscard]] Result<std::optional<ControllerRecord>> running_controller(
    const inventory::StatePaths& paths);

/// The long-running part of a mesh: it runs what is managed and heals what drifts. One for each
/// state, by a lock. All that is given is borrowed and outlives it. It starts no threads of its own
/// but those of the managed server; its owner calls `tick`.
class Controller {
 public:
  /// Starts the managed bus with what the latest recorded push says (the controller's users alone
  /// before the first), or finds the external one; and the managed registry, where `mesh` needs
  /// one. `mesh` is what is declared now: its [bus] says where and with which program. Returns when
  /// both answer. Errors: Conflict (a controller runs already, a port is another's), NotFound and
  /// Unsupported (no fit nats-server or docker-registry),
  /// InvalidArgument (the server refuses the configuration), Unavailable (an external bus does not
  /// answer).
  [[nodiscard]] static Result<std::unique_ptr<Controller>> start(inventory::State& state,
                                                                 const Location& location,
                                                                 const model::Mesh& mesh,
                                                                 Edges edges, Say say);
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;
  /// As `stop`.
  ~Controller();

  /// To be called now and then (every second or so): every 30 s it makes again what the latest push
  /// raised and is gone, unless a push is under way; a registry that was asked for is started. What
  /// goes wrong is said, not returned.
  void tick();

  /// The orderly end of what is managed. Twice is once.
  Status stop();

  /// The managed registry; nothing where none runs.
  [[nodiscard]] std::optional<os::ServerRecord> registry() const;
  /// The managed server; nothing where the bus is external.
  [[nodiscard]] std::optional<bus::ServerRecord> server() const;

 private:
  struct Parts;
  explicit Controller(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace mesh::controller
