#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "controller/prune_plan.h"
#include "controller/workspace.h"
#include "inventory/state.h"
#include "model/declarations.h"
#include "os/clock.h"
#include "registry/access.h"

namespace mesh::controller {

struct PruneOptions {
  bool all = false;                     // also images that Mesh has no record of putting there
  bool yes = false;                     // otherwise it is only found out what would be done
  os::Milliseconds timeout{3'600'000};  // of the registry's own collecting
  int stop_fd = -1;
};

struct PruneReport {
  PrunePlan plan;
  std::uint64_t leftover = 0;  // bytes of contents on the disk that no manifest needs
  bool removed = false;
  std::optional<std::uint64_t> freed;  // bytes on a managed one's disk; nothing where not known
};

/// What would go, without asking the registry anything: from a managed one's disk, or from the
/// records of what Mesh put into an external one. Errors: as named_images.
[[nodiscard]] Result<PruneReport> prunable(inventory::State& state, const model::Mesh& mesh,
                                           const Location& location, bool all);

/// Removes what is in the plan, forgets it in the ledger, and lets a managed registry take away the
/// bytes; for that it is ended for a moment. Pushes, builds and mirrors are kept out meanwhile.
/// Errors: as above; Conflict (one of them works), Unavailable (the registry), those of removing.
[[nodiscard]] Result<PruneReport> prune(inventory::State& state, const model::Mesh& mesh,
                                        const Location& location, const PruneOptions& options,
                                        const registry::Services& services, const Say& say);

}  // namespace mesh::controller
