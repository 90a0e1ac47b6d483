#include "registry/remover.h"

#include "http/loop.h"
#include "registry/client.h"

namespace mesh::registry {

Status remove_manifests(const RemovalFrom& from, const Services& services,
                        std::span<const Removal> removals) {
  Credentials credentials(services);
  http::Loop loop(services.clock, {.idle = {}, .stop_fd = from.stop_fd, .timeout = {}});
  Client client({.loop = loop,
                 .services = services,
                 .credentials = credentials,
                 .account = nullptr,
                 .domain = from.domain,
                 .access = from.access,
                 .remark = [](const std::string&) {}});
  Status done;
  loop.spawn([&] {
    for (const Removal& one : removals) {
      const auto digest = oci::Digest::parse(one.digest);
      done = digest ? client.remove_manifest(one.repository, *digest)
                    : std::unexpected(digest.error());
      if (!done) {
        return;
      }
    }
  });
  MESH_CHECK(loop.run());
  return done;
}

}  // namespace mesh::registry
