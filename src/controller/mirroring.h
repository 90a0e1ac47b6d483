#pragma once

#include <string>

#include "model/declarations.h"
#include "registry/mirror.h"

namespace mesh::controller {

/// The address of the mesh's registry as images are named by it: `HOST[:PORT]`; that of this
/// machine where it listens on every address and none is advertised.
[[nodiscard]] std::string registry_address(const model::RegistrySettings& settings);

/// Where a managed registry keeps its files, below the state.
[[nodiscard]] std::string registry_storage(const std::string& state);

/// How to mirror, as mesh.toml says. `root` is its directory, `state` that of the state.
[[nodiscard]] registry::MirrorOptions mirror_options(const model::Mesh& mesh,
                                                     const std::string& root,
                                                     const std::string& state);

}  // namespace mesh::controller
