#include "controller/mirroring.h"

#include <filesystem>

namespace mesh::controller {
namespace {

std::string beside(const std::string& root, const std::optional<std::string>& path) {
  return path ? (std::filesystem::path(root) / *path).lexically_normal().string() : std::string();
}

}  // namespace

std::string registry_address(const model::RegistrySettings& settings) {
  return settings.advertise.value_or(settings.listen);
}

std::string registry_storage(const std::string& state) {
  return state + "/registry/data";
}

registry::MirrorOptions mirror_options(const model::Mesh& mesh, const std::string& root,
                                       const std::string& state) {
  registry::MirrorOptions options;
  options.registry = registry_address(mesh.registry);
  options.access = {mesh.registry.insecure, beside(root, mesh.registry.ca), ""};
  for (const auto& [host, upstream] : mesh.upstreams) {
    options.upstreams[host] = {upstream.insecure, beside(root, upstream.ca),
                               upstream.mirror.value_or("")};
  }
  options.state = state;
  if (mesh.registry.managed) {
    options.storage = registry_storage(state);
  }
  return options;
}

}  // namespace mesh::controller
