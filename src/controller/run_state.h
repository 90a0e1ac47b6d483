#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "inventory/state.h"
#include "os/process_mark.h"

namespace mesh::controller {

/// A node of this machine, as `mesh up` sees it.
struct RunNode {
  std::string name;
  std::string state;    // as NodeStanding
  std::string because;  // why, in words; may be empty
  friend bool operator==(const RunNode&, const RunNode&) = default;
};

/// What `mesh up` runs, as it stands in run/up.json.
struct RunState {
  os::ProcessMark mark;        // the process of `mesh up`
  std::int64_t number = 0;     // of the latest push
  std::string since;           // RFC 3339: when it came up
  std::vector<RunNode> nodes;  // of this machine, sorted by name
};

/// What the `mesh up` of this state wrote last, or nothing where none runs (also where it died).
/// Errors: Corrupt, and those of the file.
[[nodiscard]] Result<std::optional<RunState>> read_run_state(const inventory::StatePaths& paths);

/// Replaces run/up.json in one step.
[[nodiscard]] Status write_run_state(const inventory::StatePaths& paths, const RunState& state);

/// Where it stands: run/up.json.
[[nodiscard]] std::string run_state_file(const inventory::StatePaths& paths);

}  // namespace mesh::controller
