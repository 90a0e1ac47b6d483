#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "controller/bus_link.h"
#include "controller/nodes.h"
#include "controller/registry_standing.h"
#include "inventory/state.h"
#include "model/declarations.h"

/// How things stand, read from the bus and the records.
namespace mesh::controller {

/// A consumer of the mesh. What is unknown is not set.
struct ConsumerStanding {
  std::string name;  // STREAM.consumer
  std::uint64_t waiting = 0;
  std::uint64_t unacknowledged = 0;
  std::optional<std::string> oldest;    // RFC 3339: of the first message it has not done
  std::optional<std::int64_t> lost_in;  // seconds until that message ages out, at least 0
  bool stalled = false;                 // as many unacknowledged as it may have
};

/// How one component stands, by its node's report. `state` is `running`, `starting`, `unhealthy`,
/// `backoff`, `failed`, `stopped` or `unknown`.
struct ComponentState {
  std::string node;
  std::string module;
  std::string component;
  std::string state;
  int restarts = 0;
  std::string since;    // RFC 3339: since when it is in this state
  std::string because;  // why, in words; may be empty
  std::string digest;   // of its image; empty for a command
};

/// It runs, or has done what it was for.
[[nodiscard]] bool as_declared(const ComponentState& state, const model::Component& component);

struct SeatStanding {
  std::string name;
  std::uint64_t waiting = 0;
  std::optional<std::string> oldest;
  std::vector<std::string> holders;  // instances that hold it and are connected now
};

struct BusStanding {
  bool running = false;
  std::vector<std::string> urls;
  std::vector<std::string> versions;  // of its servers
  std::uint64_t streams = 0;
  std::uint64_t consumers = 0;
  std::uint64_t storage = 0;     // bytes
  std::uint64_t requests = 0;    // to JetStream's API, since the server started
  std::optional<Error> failure;  // why it could not be asked
};

struct Standing {
  BusStanding bus;
  RegistryStanding registry;
  std::vector<ConsumerStanding> consumers;  // sorted by name
  std::vector<SeatStanding> seats;          // sorted by name
  std::optional<std::uint64_t> parked;
  std::vector<NodeStanding> nodes;       // by their reports; sorted by name
  std::vector<ComponentState> reported;  // of machines that have joined

  /// How the node stands by its reports; nullptr where no machine has joined as it.
  [[nodiscard]] const NodeStanding* joined(const std::string& node) const;
  /// How a component stands; nullptr where no report tells.
  [[nodiscard]] const ComponentState* find(const std::string& node, const std::string& module,
                                           const std::string& component) const;
};

/// Asks the bus for at most `timeout`. Never fails for the bus' or the registry's sake: where one
/// cannot be asked, its `failure` says why. Errors: those of the state's files.
[[nodiscard]] Result<Standing> standing(inventory::State& state, const model::Mesh& mesh,
                                        const std::string& root, os::WallTime now,
                                        os::Milliseconds timeout);

}  // namespace mesh::controller
