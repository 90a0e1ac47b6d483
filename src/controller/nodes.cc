#include "controller/nodes.h"

#include <fmt/format.h>

#include "base/text.h"
#include "controller/access.h"
#include "controller/node_declarations.h"
#include "controller/node_keeper.h"
#include "controller/recorded.h"
#include "controller/tls.h"
#include "declaration/token.h"

namespace mesh::controller {

namespace {

std::int64_t invitation_end(Edges edges) {
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(edges.clock.now().time_since_epoch());
  return (now + kInvitationHolds).count();
}

std::string time_text(std::int64_t seconds) {
  return os::rfc3339(os::WallTime{std::chrono::seconds{seconds}});
}

/// Puts it in force where that can be done now; otherwise says why it is not.
Result<std::string> in_force(inventory::State& state, const std::string& root,
                             const std::string& node, Steps& steps) {
  MESH_TRY(const auto recorded, recorded_mesh(state.inventory));
  if (!recorded || recorded->mesh.node(node) == nullptr) {
    return std::string("node " + node + " was not pushed yet: `mesh push`, then the token holds");
  }
  if (auto done = put_access_in_force(state, root, steps); !done) {
    if (done.error().code != Code::Unavailable) {
      return std::unexpected(std::move(done).error());
    }
    return std::string(
        "the bus does not run: the token holds once `mesh up` or `mesh controller` "
        "runs");
  }
  return std::string();
}

}  // namespace

Result<Invitation> invite_node(inventory::State& state, const Location& location,
                               const model::Mesh& mesh, const std::string& node, Edges edges,
                               Steps& steps) {
  const auto* declared = mesh.node(node);
  if (declared == nullptr) {
    return fail(Code::InvalidArgument, fmt::format("no node is called {}", printable(node)),
                fmt::format("declare [nodes.{}] in mesh.toml first", printable(node)), mesh.place);
  }
  MESH_TRY(const auto lock, inventory::lock_state(state.paths.root(), "node add", edges.clock));
  MESH_TRY(const auto known, state.inventory.node(node));
  if (known && known->key) {
    return fail(Code::Conflict,
                fmt::format("a machine joined as {} at {}", node, known->joined.value_or("")),
                fmt::format("`mesh node remove {}` withdraws it first", node));
  }
  auto record = known.value_or(inventory::NodeRecord{});
  record.name = node;
  record.expires = invitation_end(edges);
  MESH_TRY(auto password, renew_credential(state, node, edges));
  MESH_CHECK(state.inventory.put_node(record));
  Invitation out;
  out.expires = time_text(*record.expires);
  MESH_TRY(out.note, in_force(state, location.root, node, steps));
  MESH_TRY(const auto ca, node_ca(state.paths, location.root, mesh.bus.tls(), mesh.bus.ca));
  out.token = declaration::write_token({state.identity.mesh_id, node,
                                        dialled_urls(mesh, *declared, machine_hosts()), ca,
                                        state.identity.signing_key, state.identity.recovery_key,
                                        std::move(password), *record.expires});
  return out;
}

Result<bool> withdraw_node(inventory::State& state, const Location& location,
                           const std::string& node, Edges edges, Steps& steps) {
  MESH_TRY(const auto lock, inventory::lock_state(state.paths.root(), "node remove", edges.clock));
  MESH_TRY(auto record, state.inventory.node(node));
  if (!record || (!record->key && !record->expires)) {
    return false;
  }
  MESH_CHECK(renew_credential(state, node, edges));
  record->key.reset();
  record->joined.reset();
  record->platform.clear();
  record->expires.reset();
  MESH_CHECK(state.inventory.put_node(*record));
  MESH_CHECK(in_force(state, location.root, node, steps));
  return true;
}

}  // namespace mesh::controller
