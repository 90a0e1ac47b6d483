#include "controller/registry_keeper.h"

#include <fmt/format.h>

#include "controller/bus_config.h"
#include "controller/credentials.h"
#include "controller/registry_access.h"
#include "controller/registry_link.h"
#include "controller/tls.h"
#include "model/addresses.h"
#include "model/subjects.h"
#include "os/files.h"
#include "registry/collect.h"

namespace mesh::controller {

namespace {

constexpr std::size_t kMostFailure = 65536;

/// Is there while somebody waits for the registry to be started.
std::string wanted_file(const inventory::StatePaths& paths) {
  return paths.registry() + "/wanted";
}

std::string failure_file(const inventory::StatePaths& paths) {
  return paths.registry() + "/failure";
}

}  // namespace

Status ask_keeper(const inventory::StatePaths& paths) {
  MESH_CHECK(os::make_private_dir(paths.registry()));
  MESH_CHECK(os::remove_tree(failure_file(paths)));
  return os::write_file_atomic(wanted_file(paths), "", os::kPrivateFile);
}

Result<std::optional<std::string>> keeper_failed(const inventory::StatePaths& paths) {
  auto text = os::read_file(failure_file(paths), kMostFailure);
  if (!text && text.error().code == Code::NotFound) {
    return std::optional<std::string>();
  }
  MESH_CHECK(text);
  return std::optional(*std::move(text));
}

RegistryKeeper::RegistryKeeper(inventory::State& state, const Location& location, Edges edges,
                               Say say)
    : state_(state), location_(location), edges_(edges), say_(std::move(say)) {}

RegistryKeeper::~RegistryKeeper() = default;

Status RegistryKeeper::begin(const model::Mesh& mesh) {
  if (!mesh.registry.managed) {
    return {};
  }
  MESH_TRY(const auto running, os::running_server(registry_paths(state_.paths).record()));
  if (!running && !needs_registry(mesh) && !os::exists(wanted_file(state_.paths))) {
    return {};
  }
  return start(mesh);
}

Status RegistryKeeper::start(const model::Mesh& mesh) {
  MESH_TRY(const auto address, model::parse_host_port(mesh.registry.listen));
  registry::ManagedRegistryOptions options;
  MESH_TRY(options.program, registry::find_registry(executable_directory()));
  options.directory = state_.paths.registry();
  options.host = address.host;
  options.port = address.port;
  options.mesh_id = state_.identity.mesh_id;
  options.say = say_;
  if (mesh.registry.tls()) {
    const auto now = edges_.clock.now();
    MESH_CHECK(renew_certificate(state_.paths, mesh, Served::Registry, now));
    const std::vector<std::string> own = {model::kController};
    MESH_CHECK(issue_credentials(state_, own, "controller", edges_));
    MESH_CHECK(write_registry_access(state_, mesh));
    options.certificate = certificate_file(state_.paths, Served::Registry);
    options.ca_file = state_.paths.authority_certificate();
  }
  // One of an earlier run that goes on would show the certificate that it was started with.
  MESH_TRY(const bool shown, registry_shows_certificate(state_));
  MESH_CHECK(shown ? Status() : registry::end_server(registry_paths(state_.paths)));
  MESH_TRY(server_, registry::start_registry(std::move(options), edges_.random));
  MESH_CHECK(remember_registry_certificate(state_));
  return os::remove_tree(wanted_file(state_.paths));
}

Status RegistryKeeper::start_as_declared() {
  const auto reading = read_declarations(location_);
  if (!reading.mesh) {
    return fail(Code::InvalidArgument, "the declarations are invalid", "see `mesh check`");
  }
  if (!reading.mesh->registry.managed) {
    return fail(Code::InvalidArgument, "[registry] of mesh.toml is external");
  }
  return start(*reading.mesh);
}

void RegistryKeeper::tick() {
  if (server_ || !os::exists(wanted_file(state_.paths))) {
    return;
  }
  const auto started = start_as_declared();
  if (started) {
    return;
  }
  say_("could not start the registry: " + started.error().message);
  auto told =
      os::write_file_atomic(failure_file(state_.paths), started.error().message, os::kPrivateFile);
  if (const auto removed = os::remove_tree(wanted_file(state_.paths)); told && !removed) {
    told = removed;
  }
  if (!told) {
    say_(told.error().message);
  }
}

Status RegistryKeeper::stop() {
  return server_ ? server_->stop() : Status();
}

std::optional<os::ServerRecord> RegistryKeeper::record() const {
  return server_ ? std::optional(server_->record()) : std::nullopt;
}

}  // namespace mesh::controller
