#include "controller/access.h"

#include <fmt/format.h>

#include "broker/verify.h"
#include "controller/bus_config.h"
#include "controller/bus_file.h"
#include "controller/credentials.h"
#include "controller/planning.h"
#include "controller/recorded.h"
#include "secrets/credential.h"

namespace mesh::controller {

Result<secrets::Secret> renew_credential(inventory::State& state, const std::string& principal,
                                         Edges edges) {
  auto random = edges.random.bytes(secrets::kCredentialRandomBytes);
  auto made = secrets::new_credential(random);
  secrets::wipe(random);
  MESH_TRY(auto credential, std::move(made));
  auto out = credential.secret.copy();
  std::vector<inventory::NewCredential> kept;
  kept.push_back({principal, credential.hash, std::move(credential.secret)});
  MESH_CHECK(state.inventory.add_credentials(kept));
  return out;
}

Status put_access_in_force(inventory::State& state, const std::string& root, Steps& steps) {
  MESH_TRY(const auto recorded, recorded_mesh(state.inventory));
  if (!recorded) {
    return {};
  }
  const auto& mesh = recorded->mesh;
  MESH_CHECK(steps.next("connect to the bus"));
  MESH_TRY(auto link, connect_bus(state, mesh, root, at_most(kBusTimeout, steps)));
  MESH_TRY(const auto file, read_bus_file(state, mesh, root));
  const auto shape = bus_shape(mesh);
  MESH_TRY(const auto hashes, state.inventory.hashes());
  MESH_TRY(const auto text,
           bus_config_text(settings_for(state.paths, mesh, link, file, nullptr), shape, hashes));
  const auto problems = broker::verify(text, shape.principals, file.path);
  if (!problems.empty()) {
    return fail(Code::Internal,
                "the composed configuration does not say what the records imply: " +
                    model::to_text(problems.front()),
                "nothing was changed; this is a defect of mesh");
  }
  if (text == file.text && file.proved) {
    return {};
  }
  const bool twice = !file.proved;
  BusFileSwap swap(state, mesh, root, file, steps);
  MESH_CHECK(swap.put(link, text, twice));
  return {};
}

}  // namespace mesh::controller
