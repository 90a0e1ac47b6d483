#include "controller/registry_link.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "controller/controller.h"
#include "controller/mirroring.h"
#include "controller/registry_access.h"
#include "controller/registry_keeper.h"
#include "os/files.h"
#include "os/poll.h"

namespace mesh::controller {

namespace {

constexpr os::Milliseconds kAskedFor{30'000};  // a controller looks every second
constexpr os::Milliseconds kLookForRegistry{50};

bool is_image(const model::Component& component) {
  return component.build || component.image;
}

Result<std::optional<os::ServerRecord>> running_registry(const inventory::StatePaths& paths) {
  return os::running_server(registry_paths(paths).record());
}

/// Waits for a controller to do what it is asked; its words where it could not.
Result<os::ServerRecord> ask_for_registry(const inventory::StatePaths& paths, int stop_fd) {
  MESH_CHECK(ask_keeper(paths));
  const os::Deadline deadline(kAskedFor);
  while (!deadline.passed()) {
    MESH_TRY(auto record, running_registry(paths));
    if (record) {
      return *std::move(record);
    }
    MESH_TRY(const auto failed, keeper_failed(paths));
    if (failed) {
      return fail(Code::Unavailable, "the controller could not start the registry: " + *failed);
    }
    if (os::wait_readable(stop_fd, kLookForRegistry)) {
      return fail(Code::Interrupted, "interrupted while waiting for the registry");
    }
  }
  return fail(Code::Unavailable,
              fmt::format("the controller has not started the registry within {} s",
                          kAskedFor.count() / 1000),
              "see what it says; `mesh doctor` looks for the reason");
}

Result<os::ServerRecord> managed_registry(const inventory::StatePaths& paths, int stop_fd) {
  MESH_TRY(auto record, running_registry(paths));
  if (record) {
    return *std::move(record);
  }
  MESH_TRY(const auto controller, running_controller(paths));
  if (controller) {
    return ask_for_registry(paths, stop_fd);
  }
  return fail(Code::Unavailable, "the registry does not run",
              "start it with `mesh controller` or `mesh up`");
}

}  // namespace

registry::ServerPaths registry_paths(const inventory::StatePaths& paths) {
  return registry::ServerPaths(paths.registry());
}

bool needs_registry(const model::Mesh& mesh) {
  return mesh.registry.declared || std::ranges::any_of(mesh.modules, [](const auto& module) {
           return std::ranges::any_of(module.file->components, is_image);
         });
}

Result<RegistryLink> reach_registry(inventory::State& state, const model::Mesh& mesh,
                                    const std::string& root, int stop_fd) {
  const auto options = mirror_options(mesh, root, state.paths.root());
  RegistryLink link{options.registry, options.access, options.storage, {}};
  if (mesh.registry.managed) {
    MESH_TRY(link.managed, managed_registry(state.paths, stop_fd));
    MESH_CHECK(write_registry_access(state, mesh));
  }
  return link;
}

}  // namespace mesh::controller
