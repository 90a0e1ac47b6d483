#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "controller/building.h"
#include "controller/steps.h"
#include "controller/workspace.h"
#include "inventory/state.h"
#include "registry/access.h"
#include "registry/mirror.h"

namespace mesh::controller {

/// What bringing images needs beside the mesh. Everything is borrowed.
struct ImageEdges {
  const registry::Services& services;
  registry::Progress& progress;
};

/// Builds and mirrors what the components of `mesh` run, as `mesh build` does, and says what was
/// asked of upstream. Where one cannot be had, what went wrong with each is said with the last
/// lines of its build, and the first error is returned: the others are in the registry all the
/// same. Returns what every component with an image runs.
[[nodiscard]] Result<std::vector<inventory::PushImage>> bring_images(inventory::State& state,
                                                                     const Location& location,
                                                                     const model::Mesh& mesh,
                                                                     const ImageEdges& edges,
                                                                     Steps& steps);

/// What became of a build, a line each: its last lines, then the error.
[[nodiscard]] std::vector<std::string> lines_of(const BuildTrouble& trouble);

}  // namespace mesh::controller
