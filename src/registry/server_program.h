#pragma once

#include <string>

#include "base/result.h"
#include "base/version.h"

namespace mesh::registry {

/// The first version that Mesh works with. Before it the registry knows no OCI manifests.
inline constexpr Version kOldestRegistry{2, 7, 0};

/// A program that can be run as the mesh's registry: the distribution project's.
struct RegistryProgram {
  std::string path;
  Version version;
};

/// What `program --version` says. Unsupported: another program, older than 2.7.
[[nodiscard]] Result<RegistryProgram> examine_registry(const std::string& program);

/// The registry to run: `<directory of this executable>/../tools/docker-registry`, otherwise
/// `docker-registry` or `registry` on PATH; the first that is fit. `NotFound` where there is none,
/// `Unsupported` where none that was found is fit: the text says which and why.
[[nodiscard]] Result<RegistryProgram> find_registry(const std::string& executable_directory);

}  // namespace mesh::registry
