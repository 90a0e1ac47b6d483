#include "controller/workspace.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include <fmt/format.h>

#include "controller/build_inputs.h"
#include "controller/disk_files.h"
#include "os/files.h"

namespace mesh::controller {

namespace {

namespace fs = std::filesystem;

/// `root` relative to `directory`, with `/` at its end; empty where they are the same.
std::string shown(const fs::path& root, const fs::path& directory) {
  const auto relative = root.lexically_relative(directory);
  return relative == "." || relative.empty() ? std::string() : relative.string() + "/";
}

/// A state that somebody opened to other users is closed again, and that is said: what they read
/// meanwhile they know.
Status close_to_others(const std::string& state, const Say& say) {
  struct stat info{};
  if (::stat(state.c_str(), &info) != 0 || (info.st_mode & 0077U) == 0) {
    return {};
  }
  if (::chmod(state.c_str(), os::kPrivateDir) != 0) {
    return fail(Code::PermissionDenied, state + " is open to other users", "chmod 700 " + state);
  }
  say(fmt::format("warning: {} was open to other users (mode {:04o}) and is closed now", state,
                  info.st_mode & 07777U));
  return {};
}

}  // namespace

std::string Location::in_state(std::string_view path) const {
  return (fs::path(state) / path).string();
}

Result<Location> locate(const std::string& directory, const std::optional<std::string>& state) {
  auto root = fs::path(directory).lexically_normal();
  if (!root.has_filename() && root.has_relative_path()) {
    root = root.parent_path();  // a trailing slash
  }
  const auto start = root;
  std::error_code failed;
  while (!fs::exists(fs::symlink_status(root / "mesh.toml", failed))) {
    if (root == root.root_path() || root.empty()) {
      return fail(Code::InvalidArgument,
                  fmt::format("there is no mesh.toml in {} or above it", directory),
                  "`mesh init` makes one");
    }
    root = root.parent_path();
  }
  return Location{root.string(), state.value_or((root / ".mesh").string()), shown(root, start)};
}

model::Reading read_declarations(const Location& location) {
  const DiskFiles files(location.root);
  auto reading = model::read_mesh(files, location.shown_prefix);
  if (reading.mesh) {
    auto builds = read_build_inputs(*reading.mesh, files, location, {{}, machine_platform()});
    std::ranges::move(builds.problems, std::back_inserter(reading.problems));
    if (model::has_errors(reading.problems)) {
      reading.mesh.reset();
    }
  }
  return reading;
}

Result<inventory::NewState> make_state(const Location& location, const std::string& mesh_name,
                                       Edges edges) {
  // First, so that .gitignore is not changed where something else stands in the state's place.
  MESH_CHECK(os::make_private_dir(location.state));
  MESH_CHECK(ignore_state(location));
  return inventory::create_state(location.state, mesh_name, edges.clock, edges.random);
}

std::string recovery_notice(const inventory::NewState& made) {
  return fmt::format(
      "made the state of mesh {} in {}\n"
      "its recovery key opens backups, is shown this once and kept nowhere; write it down:\n"
      "  {}",
      made.state.identity.mesh_id, made.state.paths.root(), made.recovery_text.reveal());
}

Result<inventory::State> open_state(const Location& location, const std::string& mesh_name,
                                    Edges edges, const Say& say) {
  if (inventory::state_exists(location.state)) {
    MESH_CHECK(close_to_others(location.state, say));
    return inventory::open_state(location.state, edges.clock, edges.random);
  }
  auto made = make_state(location, mesh_name, edges);
  if (!made && made.error().code == Code::Conflict && inventory::state_exists(location.state)) {
    // Another verb found none either, and was faster.
    return inventory::open_state(location.state, edges.clock, edges.random);
  }
  MESH_TRY(auto fresh, std::move(made));
  say(recovery_notice(fresh));
  return std::move(fresh.state);
}

}  // namespace mesh::controller
