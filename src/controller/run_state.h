#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "inventory/state.h"
#include "os/process_mark.h"

namespace mesh::controller {

/// How one component stands. `state` is `running`, `starting`, `unhealthy`, `backoff`, `failed`,
/// `stopped` or `unknown`.
struct ComponentState {
  std::string node;
  std::string module;
  std::string component;
  std::string state;
  int restarts = 0;
  std::string since;     // RFC 3339: since when it is in this state
  std::string because;   // why, in words; may be empty
  std::string digest{};  // of its image; empty for a command
  /// The process that leads its group, where one runs.
  std::optional<os::ProcessMark> process = std::nullopt;
};

/// What `mesh up` runs, as it stands in run/up.json.
struct RunState {
  os::ProcessMark mark;                    // the process of `mesh up`
  std::int64_t number = 0;                 // of the push that it runs
  std::string since;                       // when it came up
  std::vector<ComponentState> components;  // sorted by node, module and component

  /// The component of that name, or nullptr.
  [[nodiscard]] const ComponentState* find(const std::string& node, const std::string& module,
                                           const std::string& component) const;
};

/// What the `mesh up` of this state wrote last, or nothing where none runs (also where it died).
/// Errors: Corrupt, and those of the file.
[[nodiscard]] Result<std::optional<RunState>> read_run_state(const inventory::StatePaths& paths);

/// Kills what a `mesh up` that died left of its components (their processes' groups); how many
/// processes that were. Nothing where it runs.
[[nodiscard]] Result<int> kill_leftovers(const inventory::StatePaths& paths);

/// Replaces run/up.json in one step.
[[nodiscard]] Status write_run_state(const inventory::StatePaths& paths, const RunState& state);

/// Where it stands: run/up.json.
[[nodiscard]] std::string run_state_file(const inventory::StatePaths& paths);

}  // namespace mesh::controller
