#pragma once

#include <string>

#include "cli/outcome.h"
#include "controller/standing.h"
#include "model/declarations.h"

namespace mesh::cli {

/// What `mesh status` knows of one mesh.
struct StatusView {
  const model::Mesh& mesh;
  std::string mesh_id;
  std::int64_t number = 0;  // of the latest push, 0 before the first
  const controller::Standing& standing;
};

/// The document of `mesh status --json`.
[[nodiscard]] Json status_json(const StatusView& view);
/// The same for people.
[[nodiscard]] std::string status_text(const StatusView& view);

/// `converged`, `converging`, `failed` or `unknown`, from the states of the node's components.
[[nodiscard]] std::string node_state(const StatusView& view, const model::Node& node);

}  // namespace mesh::cli
