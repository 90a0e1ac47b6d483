#include "controller/registry_access.h"

#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "controller/mirroring.h"
#include "controller/registry_link.h"
#include "controller/tls.h"
#include "model/subjects.h"
#include "os/files.h"
#include "registry/server_config.h"

namespace mesh::controller {

namespace {

constexpr const char* kShownNote = "registry.certificate";
constexpr std::size_t kLargestFile = std::size_t{16} << 20U;

/// One that is the same stays: the registry would read it again for nothing.
Status write_if_other(const std::string& path, const std::string& bytes) {
  const auto there = os::read_private_file(path, kLargestFile);
  return there && *there == bytes ? Status() : os::write_file_atomic(path, bytes, os::kPrivateFile);
}

Result<std::string> users_text(inventory::State& state, const model::Mesh& mesh) {
  MESH_TRY(const auto hashes, state.inventory.hashes());
  std::map<std::string, std::string> users;
  const auto add = [&](const std::string& name) {
    if (const auto found = hashes.find(name); found != hashes.end()) {
      users.insert(*found);
    }
  };
  add(model::kController);
  for (const auto& node : mesh.nodes) {
    add(node.name.text());
  }
  return registry::users_file(users);
}

/// By each of the registry's names: which one images are named by may change before it is started
/// again.
Result<std::string> login_text(inventory::State& state, const model::Mesh& mesh) {
  MESH_TRY(const auto secret, state.inventory.credential_secret(model::kController));
  const std::string pair = std::string(model::kController) + ":" + std::string(secret.reveal());
  const nlohmann::json entry = {{"auth", base64(pair)}};
  nlohmann::json document = {{"auths", nlohmann::json::object()}};
  for (const auto& name : {registry_address(mesh.registry), mesh.registry.listen}) {
    document["auths"][name] = entry;
  }
  return document.dump(2) + "\n";
}

}  // namespace

Result<bool> registry_shows_certificate(inventory::State& state) {
  MESH_TRY(const auto shown, state.inventory.note(kShownNote));
  return shown.value_or("") == certificate_mark(state.paths, Served::Registry);
}

Status remember_registry_certificate(inventory::State& state) {
  return state.inventory.set_note(kShownNote, certificate_mark(state.paths, Served::Registry));
}

Status write_registry_access(inventory::State& state, const model::Mesh& mesh) {
  if (!mesh.registry.tls()) {
    return {};
  }
  const auto paths = registry_paths(state.paths);
  MESH_CHECK(os::make_private_dir(paths.root()));
  MESH_TRY(const auto users, users_text(state, mesh));
  MESH_CHECK(write_if_other(paths.users(), users));
  MESH_TRY(const auto login, login_text(state, mesh));
  return write_if_other(paths.login(), login);
}

}  // namespace mesh::controller
