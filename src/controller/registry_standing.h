#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "inventory/state.h"
#include "model/declarations.h"

namespace mesh::controller {

/// How the mesh's registry stands. What is unknown is not set.
struct RegistryStanding {
  bool needed = false;   // by what is declared
  bool running = false;  // it answers as a registry
  std::string address;
  std::optional<std::string> version;  // of a managed one
  std::uint64_t images = 0;            // in the inventory's ledger of what it holds
  std::optional<std::uint64_t>
      bytes;                     // on a managed one's disk; unknown where it is very many files
  std::optional<Error> failure;  // why it is not running, where it is needed or external
};

/// Never fails for the registry's sake. Errors: those of the state's files. `root` is the directory
/// of mesh.toml.
[[nodiscard]] Result<RegistryStanding> registry_standing(inventory::State& state,
                                                         const model::Mesh& mesh,
                                                         const std::string& root);

}  // namespace mesh::controller
