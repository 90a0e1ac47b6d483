#include "controller/homes.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "os/files.h"
#include "os/folder_copy.h"
#include "os/machine_users.h"

namespace mesh::controller {

namespace {

namespace fs = std::filesystem;

constexpr const char* kMachine = "/run/mesh";

/// What a component finds beside its own variables: what programs need to be found and to speak the
/// operator's language, nothing else of the operator's.
os::Environment base_environment() {
  os::Environment out;
  const auto caller = os::current_environment();
  for (const auto* name : {"PATH", "LANG", "LC_ALL", "TZ"}) {
    if (const auto found = caller.find(name); found != caller.end()) {
      out.insert(*found);
    }
  }
  return out;
}

/// `value` with the directory `from` at its beginning replaced by `to`.
std::string moved(const std::string& value, const std::string& from, const std::string& to) {
  return value.starts_with(from + "/") ? to + value.substr(from.size()) : value;
}

}  // namespace

Homes::Homes(inventory::State& state, std::string root, Edges edges)
    : state_(&state), root_(std::move(root)), edges_(edges) {}

Result<Homes> Homes::open(inventory::State& state, const std::string& root, Edges edges) {
  Homes homes(state, root, edges);
  homes.separate_ = ::geteuid() == 0;
  homes.base_ = std::string(kMachine) + "/" + state.identity.mesh_id;
  MESH_CHECK(os::make_private_dir(state.paths.run()));
  MESH_CHECK(os::make_private_dir(state.paths.log()));
  return homes;
}

Result<os::Identity> Homes::user_of(const std::string& instance) {
  MESH_TRY(const auto uid,
           os::machine_user(kMachine, state_->identity.mesh_id, instance, edges_.clock));
  return os::Identity{uid, uid};
}

Status Homes::settle(const Part& part, const std::string& home, os::Identity user) {
  const auto instance = part.instance().text();
  const auto folder = fs::path(root_) / part.module->path;
  if (!settled_[instance]) {
    MESH_CHECK(os::remove_tree(home));
    MESH_CHECK(os::make_dirs(base_, 0711));
    MESH_CHECK(os::make_private_dir(home));
    MESH_CHECK(os::copy_folder(folder.lexically_normal().string(), home + "/files",
                               fs::path(state_->paths.root()).lexically_normal().string()));
    settled_[instance] = true;
  }
  // The environment's files may have changed since: they are copied every time.
  MESH_CHECK(os::copy_folder(PartFiles(state_->paths, part).directory(), home + "/env", {}));
  return os::give_folder(home, user);
}

Result<UnitSpec> Homes::prepare(const model::Mesh& mesh, const Part& part) {
  MESH_TRY(auto prepared, prepare_environment(*state_, mesh, part, root_));
  UnitSpec spec;
  spec.node = part.node->name.text();
  spec.module = part.module->name.text();
  spec.component = part.component->name.text();
  spec.run = part.component->run;
  spec.restart = part.component->restart;
  spec.grace = part.component->grace;
  spec.log_size = static_cast<std::uint64_t>(std::max<std::int64_t>(part.component->log_size, 0));
  spec.after = part.component->after;
  spec.secrets = prepared.secret_files;
  spec.environment = base_environment();
  spec.directory = (fs::path(root_) / part.module->path).lexically_normal().string();
  const auto environment = PartFiles(state_->paths, part).directory();
  if (separate_) {
    const auto home = fmt::format("{}/{}", base_, part.instance().text());
    MESH_TRY(const auto user, user_of(part.instance().text()));
    MESH_CHECK(settle(part, home, user));
    spec.identity = user;
    spec.directory = home + "/files";
    spec.environment["HOME"] = home;
    const auto own = home + "/env";
    for (auto& [name, value] : prepared.variables) {
      value = moved(value, environment, own);
    }
  } else if (const auto caller = os::current_environment(); caller.contains("HOME")) {
    spec.environment["HOME"] = caller.at("HOME");
  }
  for (const auto& [name, value] : prepared.variables) {
    spec.environment[name] = value;
  }
  return spec;
}

Status Homes::remove() {
  settled_.clear();
  return separate_ ? os::remove_tree(base_) : Status{};
}

}  // namespace mesh::controller
