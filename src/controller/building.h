#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "controller/build_inputs.h"
#include "inventory/state.h"
#include "os/clock.h"
#include "os/process.h"
#include "registry/access.h"
#include "registry/mirror.h"

namespace mesh::controller {

struct BuildOptions {
  std::vector<std::string> modules;  // those alone; empty: all
  bool update = false;               // ask upstream what tags mean now, and move mesh.lock
  bool images = false;               // bring the images that components name, too
  os::Milliseconds timeout{};        // of all of it
  int stop_fd = -1;                  // readable: the operator wants it ended
  std::size_t at_once = 2;           // builds side by side
  std::string program = "buildah";
};

struct BuiltComponent {
  std::string module;
  std::string component;
  std::string reference;  // `HOST[:PORT]/REPOSITORY@DIGEST`
  std::string digest;
  bool built = false;  // false: nothing of it had changed
};

/// A component that could not be built; the others went on.
struct BuildTrouble {
  std::string module;
  std::string component;
  Error error;                          // its place is the instruction that failed
  std::vector<std::string> last_lines;  // of the build's output
  std::string log;                      // the whole of it, a path
};

struct BuildReport {
  std::vector<BuiltComponent> components;  // by module and component
  std::vector<BuildTrouble> troubles;
  std::vector<inventory::PushImage> images;  // what each component is now, built or brought
  std::vector<registry::Asked> upstream;     // every request
  std::vector<registry::Quota> quotas;
  std::vector<std::string> notes;  // "debian:12: sha256:… -> sha256:…"
};

/// What was found wrong with the files before anything was done, or the report.
struct BuildOutcome {
  std::vector<model::Problem> problems;  // an error among them: nothing was done
  BuildReport report;
};

/// Builds the components whose inputs changed, on bases that the mesh's registry holds by digest;
/// see docs/build.md. What is built is pushed, and recorded in the inventory. `say` may be called
/// from several threads, never at once. Errors: NotFound and Unsupported (buildah), Conflict
/// (another build runs), Unavailable (the registry, or a base that is not held), Interrupted,
/// Timeout (naming what it was waiting for).
[[nodiscard]] Result<BuildOutcome> build(inventory::State& state, const Location& location,
                                         const model::Mesh& mesh, const BuildOptions& options,
                                         const registry::Services& services,
                                         registry::Progress& progress, const Say& say);

/// Where a base is kept in the mesh's registry: `base/docker.io/library/debian`. Errors:
/// InvalidArgument (a name that is too long for a repository).
[[nodiscard]] Result<oci::Repository> base_repository(const oci::Reference& base);

/// The same, or, of an image that is in the mesh's registry `own` already, where it is there.
[[nodiscard]] Result<oci::Repository> repository_of_image(const std::string& own,
                                                          const oci::Reference& image);

}  // namespace mesh::controller
