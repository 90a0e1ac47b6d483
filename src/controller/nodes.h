#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "controller/bus_link.h"
#include "controller/steps.h"
#include "controller/workspace.h"
#include "declaration/report.h"
#include "inventory/state.h"
#include "model/declarations.h"

/// The machines of a mesh: inviting, withdrawing, and what they report.
namespace mesh::controller {

/// An invitation for one machine.
struct Invitation {
  secrets::Secret token;  // for `mesh-host join`; shown once and kept nowhere
  std::string expires;    // RFC 3339
  std::string note;       // why it is not in force yet; empty: it is
};

/// Invites a machine to become the node. Errors: InvalidArgument (not declared), Conflict (a
/// machine has joined under that name), as lock_state and put_access_in_force.
[[nodiscard]] Result<Invitation> invite_node(inventory::State& state, const Location& location,
                                             const model::Mesh& mesh, const std::string& node,
                                             Edges edges, Steps& steps);

/// Withdraws the machine's key and credential, or its invitation; what is declared of the node
/// stays. False where there was neither. Errors: as above.
[[nodiscard]] Result<bool> withdraw_node(inventory::State& state, const Location& location,
                                         const std::string& node, Edges edges, Steps& steps);

/// How long a report holds: three are missed.
inline constexpr std::chrono::seconds kSilentAfter{95};

/// A node as it stands.
struct NodeStanding {
  std::string name;
  std::string state = "unknown";       // `converged`, `converging`, `failed`, `silent`, `unknown`
  std::optional<std::int64_t> number;  // that it reported
  std::int64_t declared = 0;           // that it was told; 0: nothing
  std::string because;
  std::optional<std::string> since;  // RFC 3339: of the last report
  std::optional<declaration::Report> report;
};

/// Judges a report (of `age`, nothing where there is none) against what the node was told. Pure.
[[nodiscard]] NodeStanding judge_node(const std::string& node,
                                      const std::optional<inventory::NodeRecord>& record,
                                      std::optional<declaration::Report> report,
                                      os::Milliseconds age);

/// Every declared node, sorted by name, from the reports that the bus keeps.
[[nodiscard]] Result<std::vector<NodeStanding>> node_standings(inventory::State& state,
                                                               const model::Mesh& mesh,
                                                               bus::Connection& connection,
                                                               os::WallTime now);

/// Waits until each of `nodes` that has joined is converged or has failed at what it was told, and
/// returns how they stand; `steps` bounds it (then some are `converging` or `silent`). Says each
/// change. Errors: those of the bus; Interrupted.
[[nodiscard]] Result<std::vector<NodeStanding>> wait_for_nodes(
    inventory::State& state, const Location& location, const model::Mesh& mesh,
    const std::vector<std::string>& nodes, Edges edges, Steps& steps);

}  // namespace mesh::controller
