#include "registry/remover.h"

#include <functional>

#include "http/loop.h"
#include "registry/client.h"
#include "registry/turns.h"

namespace mesh::registry {
namespace {

constexpr std::size_t kAskedAtOnce = 8;

/// Does `work` with a client of that registry, as the only task.
Status with_client(const RemovalFrom& from, const Services& services,
                   const std::function<Status(http::Loop&, Client&)>& work) {
  Credentials credentials(services);
  http::Loop loop(services.clock, {.idle = {}, .stop_fd = from.stop_fd, .timeout = from.timeout});
  Client client({.loop = loop,
                 .services = services,
                 .credentials = credentials,
                 .account = nullptr,
                 .domain = from.domain,
                 .access = from.access,
                 .remark = [](const std::string&) {}});
  Status done;
  loop.spawn([&] { done = work(loop, client); });
  MESH_CHECK(loop.run());
  return done;
}

}  // namespace

Status reach(const RemovalFrom& from, const Services& services) {
  return with_client(from, services,
                     [](http::Loop& /*loop*/, Client& client) { return client.reach(); });
}

Result<std::vector<bool>> have_manifests(const RemovalFrom& from, const Services& services,
                                         std::span<const Removal> asked) {
  std::vector<bool> out(asked.size());
  MESH_CHECK(with_client(from, services, [&](http::Loop& loop, Client& client) {
    return each(loop, asked.size(), kAskedAtOnce, [&](std::size_t at) -> Status {
      MESH_TRY(const auto digest, oci::Digest::parse(asked[at].digest));
      MESH_TRY(const auto standing, client.standing(asked[at].repository, digest));
      out[at] = standing == Standing::There;
      return {};
    });
  }));
  return out;
}

Status remove_manifests(const RemovalFrom& from, const Services& services,
                        std::span<const Removal> removals) {
  return with_client(from, services, [&](http::Loop& /*loop*/, Client& client) -> Status {
    for (const Removal& one : removals) {
      MESH_TRY(const auto digest, oci::Digest::parse(one.digest));
      MESH_CHECK(client.remove_manifest(one.repository, digest));
    }
    return {};
  });
}

}  // namespace mesh::registry
