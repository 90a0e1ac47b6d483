#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "inventory/state.h"
#include "model/declarations.h"
#include "registry/access.h"

namespace mesh::controller {

/// Which of these images the mesh's registry does not have.
using AskForImages = std::function<Result<std::vector<inventory::PushImage>>(
    const std::vector<inventory::PushImage>&)>;

/// Asks the mesh's registry for each, several at once, within 5 s in all; nobody is asked where
/// there are none. One that it cannot read is gone, too. Nothing is started and nothing recorded.
/// `root` is the directory of mesh.toml. Errors: Unavailable and Timeout (then it is not known),
/// Interrupted (`stop_fd`).
[[nodiscard]] Result<std::vector<inventory::PushImage>> images_gone(
    const inventory::State& state, const model::Mesh& mesh, const std::string& root,
    const std::vector<inventory::PushImage>& images, const registry::Services& services,
    int stop_fd);

}  // namespace mesh::controller
