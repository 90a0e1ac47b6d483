#include "controller/mirroring.h"

#include <filesystem>

#include <fmt/format.h>

#include "inventory/state.h"
#include "model/addresses.h"
#include "os/dial.h"
#include "registry/server.h"

namespace mesh::controller {
namespace {

std::string beside(const std::string& root, const std::optional<std::string>& path) {
  return path ? (std::filesystem::path(root) / *path).lexically_normal().string() : std::string();
}

}  // namespace

std::string registry_address(const model::RegistrySettings& settings) {
  if (settings.advertise) {
    return *settings.advertise;
  }
  const auto listen = model::parse_host_port(settings.listen);
  const std::string host = listen ? os::dialled(listen->host) : std::string();
  return !listen || host == listen->host
             ? settings.listen
             : fmt::format(fmt::runtime(host.find(':') == std::string::npos ? "{}:{}" : "[{}]:{}"),
                           host, listen->port);
}

std::string registry_storage(const std::string& state) {
  return registry::ServerPaths(inventory::StatePaths(state).registry()).data();
}

registry::MirrorOptions mirror_options(const model::Mesh& mesh, const std::string& root,
                                       const std::string& state) {
  registry::MirrorOptions options;
  options.registry = registry_address(mesh.registry);
  options.access = {
      .insecure = mesh.registry.insecure, .ca_file = beside(root, mesh.registry.ca), .mirror = {}};
  for (const auto& [host, upstream] : mesh.upstreams) {
    options.upstreams[host] = {.insecure = upstream.insecure,
                               .ca_file = beside(root, upstream.ca),
                               .mirror = upstream.mirror.value_or("")};
  }
  options.state = state;
  if (mesh.registry.managed) {
    options.storage = registry_storage(state);
    options.access.direct = true;
  }
  if (mesh.registry.tls()) {
    const inventory::StatePaths paths(state);
    options.access.ca_file = paths.authority_certificate();
    options.access.auth_file = registry::ServerPaths(paths.registry()).login();
  }
  return options;
}

}  // namespace mesh::controller
