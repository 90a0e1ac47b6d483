#pragma once

#include "base/result.h"
#include "inventory/state.h"
#include "model/declarations.h"

namespace mesh::controller {

/// Makes the files of a managed registry beyond loopback what the records say: who may log in (the
/// controller and each declared node, with the password that it has on the bus; the registry reads
/// that file again by itself), and what the mesh's own programs on this machine log in with. What
/// is right already is left alone; where the registry asks for no login nothing is done. To be
/// called whenever one of these passwords has changed. Errors: NotFound (the controller has no
/// credential yet), those of the files.
[[nodiscard]] Status write_registry_access(inventory::State& state, const model::Mesh& mesh);

/// Whether the registry was started with the certificate that is there now (it reads it only then);
/// true where there is none.
[[nodiscard]] Result<bool> registry_shows_certificate(inventory::State& state);
/// Keeps that it was.
[[nodiscard]] Status remember_registry_certificate(inventory::State& state);

}  // namespace mesh::controller
