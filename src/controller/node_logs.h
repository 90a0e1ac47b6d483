#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bus/connection.h"
#include "controller/workspace.h"
#include "inventory/state.h"
#include "model/declarations.h"

/// What components print, asked of their nodes over the bus.
namespace mesh::controller {

/// One component on one node, and how far it was read.
struct LogSource {
  model::NodeName node;
  std::string module;
  std::string component;
  std::string cursor{};  // the node's own; empty: the last lines

  /// `node.module.component`.
  [[nodiscard]] std::string name() const;
};

/// Every component of the mesh on every node, in the order of the declarations. Pure.
[[nodiscard]] std::vector<LogSource> log_sources(const model::Mesh& mesh);

/// At most `most` lines that came after the cursor, which moves on. Errors: NotFound (the node
/// knows no such component, in its words), Unavailable and Timeout (it does not answer).
[[nodiscard]] Result<std::vector<std::string>> ask_logs(bus::Connection& connection,
                                                        LogSource& source, std::size_t most);

/// How the tools' principal of the controller, who may ask nodes, dials. Errors: as bus_address.
[[nodiscard]] Result<bus::ConnectOptions> asking_options(inventory::State& state,
                                                         const model::Mesh& mesh,
                                                         const std::string& root);

/// Follows sources on a thread of its own, until it ends.
class LogFollower {
 public:
  /// `on_line` is called on its thread. Errors: those of the first connection.
  [[nodiscard]] static Result<std::unique_ptr<LogFollower>> start(
      const bus::ConnectOptions& dial, std::vector<LogSource> sources,
      std::function<void(const std::string& unit, std::string_view line)> on_line);
  LogFollower(const LogFollower&) = delete;
  LogFollower& operator=(const LogFollower&) = delete;
  ~LogFollower();

 private:
  struct Parts;
  explicit LogFollower(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace mesh::controller
