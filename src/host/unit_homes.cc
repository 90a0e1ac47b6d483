#include "host/unit_homes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include <fmt/format.h>

#include "os/errno_error.h"
#include "os/files.h"
#include "os/folder_copy.h"
#include "os/machine_users.h"

namespace mesh::host {

struct UnitHomes::Places {
  std::string module;  // the directory that holds all others
  std::string home;
  std::string folder;  // copies, as root
  std::string files;
};

namespace {

constexpr const char* kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr mode_t kThroughForGroup = 0710;

/// A directory that others cannot pass hides all homes below it.
Status check_passable(const std::string& directory) {
  for (auto at = directory; at != "/" && at != "."; at = os::dir_name(at)) {
    struct stat info{};
    if (::stat(at.c_str(), &info) == 0 && (info.st_mode & S_IXOTH) == 0) {
      return fail(Code::PermissionDenied,
                  at + " is closed to other users, and modules that have users of their own live "
                       "below it",
                  "chmod o+x " + at);
    }
  }
  return {};
}

Status own_directory(const std::string& path, mode_t mode, uid_t uid, gid_t gid) {
  MESH_CHECK(os::make_dirs(path, os::kPrivateDir));
  if (::lchown(path.c_str(), uid, gid) != 0 || ::chmod(path.c_str(), mode) != 0) {
    return os::fail_errno(path, errno);
  }
  return {};
}

/// A copy that nobody but root can enter until it is whole, and then its user alone.
Status copy_for(const std::string& from, const std::string& to, os::Identity user) {
  const auto next = to + ".new";
  MESH_CHECK(os::remove_tree(next));
  MESH_CHECK(os::make_private_dir(next));
  MESH_CHECK(os::copy_folder(from, next, {}));
  MESH_CHECK(os::give_folder(next, user));
  MESH_CHECK(os::remove_tree(to));
  return ::rename(next.c_str(), to.c_str()) == 0 ? Status{} : os::fail_errno(to, errno);
}

/// `value` with the directory `from` at its beginning replaced by `to`.
std::string moved_path(const std::string& value, const std::string& from, const std::string& to) {
  return value == from || value.starts_with(from + "/") ? to + value.substr(from.size()) : value;
}

std::string own_variable(const os::Environment& own, const std::string& name,
                         const std::string& otherwise) {
  const auto found = own.find(name);
  return found == own.end() || found->second.empty() ? otherwise : found->second;
}

Status check_words(const UnitSpec& spec) {
  if (spec.component.run.empty()) {
    return fail(Code::Unsupported,
                fmt::format("{}.{} is not a command", spec.name.module, spec.name.component));
  }
  for (const auto& [name, value] : spec.environment) {
    if (name.empty() || name.find('=') != std::string::npos ||
        (name + value).find('\0') != std::string::npos) {
      return fail(Code::InvalidArgument,
                  fmt::format("{}.{}: a variable with an empty name, a `=` in its name or a NUL "
                              "byte cannot be given to a program",
                              spec.name.module, spec.name.component));
    }
  }
  return {};
}

}  // namespace

UnitHomes::UnitHomes(Options options, const os::Clock& clock)
    : options_(std::move(options)), clock_(clock), separate_(::geteuid() == 0) {}

UnitHomes::Places UnitHomes::places(const converge::UnitName& name) const {
  const auto module = fmt::format("{}/{}", options_.homes, name.module);
  const auto unit = fmt::format("{}.{}", name.component, name.generation);
  return {module, module + "/home", fmt::format("{}/folder.{}", module, unit),
          fmt::format("{}/files.{}", module, unit)};
}

Status UnitHomes::make_home(const Places& places, const os::Identity* user) const {
  if (user == nullptr) {
    return os::make_private_dir(places.home);
  }
  MESH_CHECK(os::make_dirs(options_.homes, 0711));
  MESH_CHECK(check_passable(options_.homes));
  MESH_CHECK(own_directory(places.module, kThroughForGroup, 0, user->gid));
  // What stands there was made here: the module cannot put anything in its place.
  return own_directory(places.home, os::kPrivateDir, user->uid, user->gid);
}

Status UnitHomes::copy(const KeptSpec& spec, bool anew) const {
  const auto where = places(spec.name);
  if (!spec.folder.empty() && (anew || !os::exists(where.folder))) {
    MESH_CHECK(copy_for(spec.folder, where.folder, *spec.identity));
  }
  if (!spec.files.empty() && (anew || !os::exists(where.files))) {
    MESH_CHECK(copy_for(spec.files, where.files, *spec.identity));
  }
  return {};
}

Result<KeptSpec> UnitHomes::settle(const UnitSpec& spec) const {
  MESH_CHECK(check_words(spec));
  const auto where = places(spec.name);
  const auto& component = spec.component;
  KeptSpec kept;
  kept.mesh = options_.mesh;
  kept.node = options_.node;
  kept.name = spec.name;
  kept.run = component.run;
  kept.environment = spec.environment;
  kept.log_size = component.log_size;
  kept.grace = component.grace;
  kept.limits = {component.memory, component.cpus, component.pids};
  const auto own = os::current_environment();
  kept.environment.emplace("PATH", own_variable(own, "PATH", kDefaultPath));
  if (!separate_) {
    kept.environment.emplace("HOME", own_variable(own, "HOME", where.home));
    kept.directory = spec.folder.empty() ? where.home : spec.folder;
    MESH_CHECK(make_home(where, nullptr));
    return kept;
  }
  const auto instance = fmt::format("{}.{}", options_.node, spec.name.module);
  MESH_TRY(const auto uid, os::machine_user(options_.users, options_.mesh, instance, clock_));
  kept.identity = os::Identity{uid, uid};
  kept.folder = spec.folder;
  kept.files = spec.files;
  kept.environment.emplace("HOME", where.home);
  kept.directory = spec.folder.empty() ? where.home : where.folder;
  for (auto& [name, value] : kept.environment) {
    if (!spec.files.empty() && name.starts_with("MESH_")) {
      value = moved_path(value, spec.files, where.files);
    }
  }
  MESH_CHECK(make_home(where, &*kept.identity));
  MESH_CHECK(copy(kept, /*anew=*/true));
  return kept;
}

Status UnitHomes::restore(const KeptSpec& spec) const {
  const auto where = places(spec.name);
  if (!spec.identity) {
    return make_home(where, nullptr);
  }
  MESH_CHECK(make_home(where, &*spec.identity));
  return copy(spec, /*anew=*/false);
}

Status UnitHomes::remove(const converge::UnitName& name, bool last) const {
  const auto where = places(name);
  if (last) {
    MESH_CHECK(os::remove_tree(where.module));
    // The directories of the node and of the mesh go with the last module.
    (void)(::rmdir(options_.homes.c_str()) == 0 &&
           ::rmdir(os::dir_name(options_.homes).c_str()) == 0);
    return {};
  }
  for (const auto* path : {&where.folder, &where.files}) {
    MESH_CHECK(os::remove_tree(*path));
    MESH_CHECK(os::remove_tree(*path + ".new"));
  }
  return {};
}

}  // namespace mesh::host
