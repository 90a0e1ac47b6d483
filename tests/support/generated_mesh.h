#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "model/declarations.h"

/// Meshes for properties and for the bench.
namespace mesh::test {

/// A valid mesh, drawn from `seed`: the same seed gives the same mesh. `size` is the most nodes and
/// modules it has; every kind of declaration occurs, names that invite mistakes among them, and
/// shapes that are easy to forget (a module that consumes its own event, several holders that hear
/// their own seat, a holder that uses its seat, calls both ways, a seat that feeds another).
[[nodiscard]] model::Mesh generated_mesh(std::uint64_t seed, std::size_t size = 8);

/// The mesh that the benches measure: `modules`, one instance each, spread over `nodes`; each emits
/// an event, consumes its neighbour's, offers a tool, calls its neighbour's and uses a seat; every
/// tenth holds a seat.
[[nodiscard]] model::Mesh bench_mesh(std::size_t modules, std::size_t nodes);

/// The files that declare `mesh`: path -> text, `mesh.toml` among them. Components, settings of
/// `[bus]` and `[registry]` and schemas are left out; reading them gives an equal mesh but for
/// places.
[[nodiscard]] std::map<std::string, std::string> to_toml(const model::Mesh& mesh);

}  // namespace mesh::test
