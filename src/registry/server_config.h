#pragma once

#include <map>
#include <string>

namespace mesh::registry {

/// Of a registry that Mesh runs.
struct ServerConfig {
  std::string listen;   // HOST:PORT
  std::string storage;  // the directory of its files
  std::string secret;   // uploads that were begun go on after a restart where it stays the same
  std::string mesh_id;  // it tells whoever asks whose it is
  /// Of one beyond loopback: the file of its certificate and key, and that of who may log in.
  /// Empty: it speaks plain HTTP, and asks for no login.
  std::string certificate{};
  std::string users{};
};

/// The text of the file of users (htpasswd): `name` and bcrypt hash of each. Sorted by name.
[[nodiscard]] std::string users_file(const std::map<std::string, std::string>& hashes);

/// The header in which it tells the mesh's id.
inline constexpr const char* kMeshHeader = "X-Mesh-Id";

/// The registry's configuration (YAML); the same arguments give the same bytes. No cache of what
/// lies on the disk: what is gone or damaged there must be seen (measured: it would save 15 % of a
/// blob's HEAD, and nothing of a manifest's or a mount). No debug port, no notifications, no
/// reports, no access log.
[[nodiscard]] std::string server_config(const ServerConfig& config);

}  // namespace mesh::registry
