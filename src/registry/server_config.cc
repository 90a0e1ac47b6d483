#include "registry/server_config.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace mesh::registry {
namespace {

/// A text of JSON is one of YAML.
std::string yaml(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// What only one beyond loopback has.
std::string tls_of(const ServerConfig& config) {
  return config.certificate.empty()
             ? std::string()
             : fmt::format("  tls:\n    certificate: {0}\n    key: {0}\n    minimumtls: tls1.2\n",
                           yaml(config.certificate));
}

std::string auth_of(const ServerConfig& config) {
  return config.users.empty() ? std::string()
                              : fmt::format("auth:\n  htpasswd:\n    realm: mesh\n    path: {}\n",
                                            yaml(config.users));
}

}  // namespace

std::string users_file(const std::map<std::string, std::string>& hashes) {
  std::string out;
  for (const auto& [name, hash] : hashes) {
    out += name + ":" + hash + "\n";
  }
  return out;
}

std::string server_config(const ServerConfig& config) {
  return fmt::format(R"(# Written by mesh at each start: what is changed here is lost.
version: 0.1
log:
  accesslog:
    disabled: true
  level: warn
  formatter: text
storage:
  filesystem:
    rootdirectory: {}
  delete:
    enabled: true
  maintenance:
    uploadpurging:
      enabled: true
      age: 24h
      interval: 6h
      dryrun: false
http:
  addr: {}
  secret: {}
  draintimeout: 10s
  headers:
    {}: [{}]
    X-Content-Type-Options: [nosniff]
{}{}# Layers that lie elsewhere by their manifest: which of them are taken is decided by who mirrors.
validation:
  manifests:
    urls:
      allow: ["^https?://"]
)",
                     yaml(config.storage), yaml(config.listen), yaml(config.secret), kMeshHeader,
                     yaml(config.mesh_id), tls_of(config), auth_of(config));
}

}  // namespace mesh::registry
