#include "controller/bus_config.h"

#include <filesystem>

#include "controller/credentials.h"
#include "controller/tls.h"

namespace mesh::controller {

namespace {

/// The first version that knows `feature_flags { js_ack_fc_v2 }` (measured on 2.10.27 and 2.15.1;
/// the flag came with 2.14).
constexpr bus::Version kKnowsAckFlag{2, 14, 0};

}  // namespace

BusShape bus_shape(const model::Mesh& mesh) {
  BusShape shape;
  shape.principals = broker::principals(mesh);
  shape.accounts = broker::accounts(mesh, shape.principals);
  shape.users = users_of(shape.accounts);
  return shape;
}

broker::ServerSettings server_settings(const model::Mesh& mesh, const inventory::StatePaths& paths,
                                       const std::optional<bus::Version>& server) {
  broker::ServerSettings settings;
  if (mesh.bus.managed) {
    settings.server_name = "mesh-" + mesh.name;
    settings.ack_flag = server && *server >= kKnowsAckFlag;  // no reload changes it
    settings.listen = mesh.bus.listen_or_default();
    settings.store_dir = paths.jetstream();
    if (mesh.bus.tls()) {
      settings.tls = bus_tls(paths);
    }
  }
  return settings;
}

broker::ServerTls bus_tls(const inventory::StatePaths& paths) {
  const auto file = certificate_file(paths, Served::Bus);
  return {file, file};
}

Result<std::string> bus_config_text(const broker::ServerSettings& settings, const BusShape& shape,
                                    const inventory::Hashes& hashes) {
  return broker::compose(settings, shape.accounts, shape.principals, hashes);
}

std::string executable_directory() {
  std::error_code failed;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", failed);
  return failed ? std::string() : path.parent_path().string();
}

}  // namespace mesh::controller
