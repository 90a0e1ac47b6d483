#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "controller/workspace.h"
#include "inventory/state.h"
#include "model/declarations.h"

namespace mesh::controller {

/// What must stay in the registry -> who needs it. A key is a digest; `repository:tag` of an image
/// that is declared by a tag; or a repository alone, all of which stays, where mesh.lock does not
/// say which digest a declared tag is. Named are: images of the declarations that stand on the disk
/// now, and the bases of what these build; mesh.lock; the declarations of the last 10 pushes, that
/// a rollback may go back to, and what was built for them; what each node was told last, and what
/// it reports to run (`running`: digest -> who runs it). Errors: InvalidArgument (a Containerfile
/// that cannot be read), Corrupt (mesh.lock, the records): then nobody may say that an image is
/// unused.
[[nodiscard]] Result<std::map<std::string, std::string>> named_images(
    inventory::State& state, const model::Mesh& mesh, const Location& location,
    const std::map<std::string, std::string>& running);

/// Digest -> the nodes that run it, by their last reports. Nothing is asked where no machine has
/// joined. Errors: those of the bus: then it is not known what runs.
[[nodiscard]] Result<std::map<std::string, std::string>> running_images(inventory::State& state,
                                                                        const model::Mesh& mesh,
                                                                        const Location& location);

}  // namespace mesh::controller
