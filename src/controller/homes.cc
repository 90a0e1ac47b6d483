#include "controller/homes.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "controller/machine_users.h"
#include "os/files.h"

namespace mesh::controller {

namespace {

namespace fs = std::filesystem;

constexpr const char* kMachine = "/run/mesh";

Error filesystem_error(const std::string& what, const std::error_code& code) {
  return {Code::Unavailable, fmt::format("{}: {}", what, code.message()), {}, {}};
}

/// Hands `path` and all below it to `user`; links are not followed.
Status give(const fs::path& path, os::Identity user) {
  std::error_code code;
  if (::lchown(path.c_str(), user.uid, user.gid) != 0) {
    return std::unexpected(filesystem_error(path, {errno, std::generic_category()}));
  }
  for (auto entry = fs::recursive_directory_iterator(path, code);
       !code && entry != fs::recursive_directory_iterator(); entry.increment(code)) {
    if (::lchown(entry->path().c_str(), user.uid, user.gid) != 0) {
      return std::unexpected(filesystem_error(entry->path(), {errno, std::generic_category()}));
    }
  }
  if (code) {
    return std::unexpected(filesystem_error(path, code));
  }
  return {};
}

/// Copies a module's folder, without what is not the module's: version control and the mesh's
/// state.
Status copy_folder(const fs::path& from, const fs::path& to, const fs::path& state) {
  std::error_code code;
  fs::create_directories(to, code);
  for (auto entry = fs::directory_iterator(from, code); !code && entry != fs::directory_iterator();
       entry.increment(code)) {
    const auto& path = entry->path();
    if (path.filename() == ".git" || path == state) {
      continue;
    }
    fs::copy(path, to / path.filename(),
             fs::copy_options::recursive | fs::copy_options::copy_symlinks |
                 fs::copy_options::overwrite_existing,
             code);
  }
  if (code) {
    return std::unexpected(filesystem_error(fmt::format("copying {}", from.string()), code));
  }
  return {};
}

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
  MESH_TRY(const auto uid, machine_user(kMachine, state_->identity.mesh_id, instance, edges_));
  return os::Identity{uid, uid};
}

Status Homes::settle(const Part& part, const std::string& home, os::Identity user) {
  const auto instance = part.instance().text();
  const auto folder = fs::path(root_) / part.module->path;
  if (!settled_[instance]) {
    MESH_CHECK(os::remove_tree(home));
    MESH_CHECK(os::make_dirs(base_, 0711));
    MESH_CHECK(os::make_private_dir(home));
    MESH_CHECK(copy_folder(folder.lexically_normal(), fs::path(home) / "files",
                           fs::path(state_->paths.root()).lexically_normal()));
    settled_[instance] = true;
  }
  // The environment's files may have changed since: they are copied every time.
  MESH_CHECK(copy_folder(PartFiles(state_->paths, part).directory(), fs::path(home) / "env", {}));
  return give(home, user);
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
