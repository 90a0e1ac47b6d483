#pragma once

#include <span>

#include "cli/context.h"
#include "cli/outcome.h"
#include "controller/workspace.h"
#include "model/problem.h"
#include "model/read.h"

namespace mesh::cli {

/// Declarations that hold: `mesh` has a value in `reading`.
struct Declarations {
  controller::Location location;
  model::Reading reading;

  [[nodiscard]] const model::Mesh& mesh() const { return *reading.mesh; }
};

/// --state as an absolute path, where it is given. Errors: Usage where it, or what it lies in, is
/// something else than a directory.
[[nodiscard]] Result<std::optional<std::string>> given_state(const Context& context);

/// Where mesh.toml is, from -C and --state. Errors: InvalidArgument (none found), Usage (--state is
/// no directory).
[[nodiscard]] Result<controller::Location> locate(const Context& context);

/// Reads the declarations that `context` stands in. Where they are invalid, `context.invalid` is
/// set and the error (InvalidArgument) is only there to end the verb: the frame prints `check`'s
/// document and exits 65.
[[nodiscard]] Result<Declarations> declarations(Context& context);

/// The state of the mesh that `declared` is; made first where there is none, which is said on
/// stderr with the recovery key. Errors: as controller::open_state.
[[nodiscard]] Result<inventory::State> open_state(const Context& context,
                                                  const Declarations& declared);

/// `check`'s outcome over `problems`.
[[nodiscard]] Outcome problems_outcome(std::span<const model::Problem> problems, bool colour);

}  // namespace mesh::cli
