#include "controller/prune.h"

#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "controller/held_manifests.h"
#include "controller/mirroring.h"
#include "controller/named_images.h"
#include "controller/registry_link.h"
#include "os/files.h"
#include "os/lock.h"
#include "registry/collect.h"
#include "registry/remover.h"

namespace mesh::controller {

namespace {

namespace fs = std::filesystem;

constexpr const char* kVerb = "registry prune";

/// digest -> bytes of every content in the storage.
std::map<std::string, std::uint64_t> contents_of(const std::string& storage) {
  std::map<std::string, std::uint64_t> out;
  const auto blobs = fs::path(storage) / "docker" / "registry" / "v2" / "blobs";
  std::error_code none;
  for (const auto& algorithm : fs::directory_iterator(blobs, none)) {
    for (const auto& prefix : fs::directory_iterator(algorithm.path(), none)) {
      for (const auto& blob : fs::directory_iterator(prefix.path(), none)) {
        std::error_code gone;
        const auto size = fs::file_size(blob.path() / "data", gone);
        out[algorithm.path().filename().string() + ":" + blob.path().filename().string()] =
            gone ? 0 : size;
      }
    }
  }
  return out;
}

std::uint64_t sum(const std::map<std::string, std::uint64_t>& contents) {
  std::uint64_t out = 0;
  for (const auto& [digest, bytes] : contents) {
    out += bytes;
  }
  return out;
}

/// Bytes of contents that no manifest names, whether or not it stays.
std::uint64_t leftover(std::map<std::string, std::uint64_t> contents,
                       const std::vector<HeldManifest>& held) {
  for (const auto& one : held) {
    contents.erase(one.digest);
    for (const auto& blob : one.blobs) {
      contents.erase(blob.first);
    }
  }
  return sum(contents);
}

struct Looked {
  std::vector<HeldManifest> held;
  PruneReport report;
};

Result<Looked> look(inventory::State& state, const model::Mesh& mesh, const Location& location,
                    bool all) {
  const auto options = mirror_options(mesh, location.root, state.paths.root());
  Looked out;
  MESH_TRY(out.held, mesh.registry.managed
                         ? manifests_in_storage(options.storage, state.inventory, options.registry)
                         : manifests_on_record(state.inventory, options.registry));
  MESH_TRY(const auto running, running_images(state, mesh, location));
  MESH_TRY(const auto named, named_images(state, mesh, location, running));
  out.report.plan = plan_prune(out.held, named, all);
  if (mesh.registry.managed) {
    out.report.leftover = leftover(contents_of(options.storage), out.held);
  }
  return out;
}

/// Whoever changes what the registry holds, or what is named, holds one of these.
Result<std::vector<os::Lock>> lock_out_others(const inventory::StatePaths& paths,
                                              const os::Clock& clock) {
  std::vector<os::Lock> out;
  MESH_TRY(auto pushes, inventory::lock_state(paths.root(), kVerb, clock));
  out.push_back(std::move(pushes));
  const auto builder = paths.root() + "/builder";
  MESH_CHECK(os::make_private_dir(builder));
  for (const auto& file : {builder + "/lock", paths.root() + "/mirror.lock"}) {
    MESH_TRY(auto lock, os::Lock::take(file, kVerb, os::rfc3339(clock.now())));
    out.push_back(std::move(lock));
  }
  return out;
}

/// A registry that is away is said so, also where there is nothing to remove: what is known of it
/// may be out of date.
Status answers(const RegistryLink& link, const registry::Services& services, int stop_fd) {
  auto reached = registry::reach({link.address, link.access, stop_fd}, services);
  if (reached) {
    return {};
  }
  Error error = std::move(reached).error();
  if (error.hint.empty()) {
    error.hint = link.managed ? "`mesh doctor` looks for the reason"
                              : "start it, or correct `advertise` of [registry]";
  }
  return within("nothing was removed: asking the mesh's registry whether it answers", error);
}

Status remove_images(const PrunePlan& plan, const RegistryLink& link,
                     const registry::Services& services, int stop_fd, const Say& say) {
  for (const auto& image : plan.unused) {
    std::vector<registry::Removal> removals;
    for (const auto& digest : image.manifests) {
      removals.push_back({image.repository, digest});
    }
    MESH_CHECK(
        registry::remove_manifests({link.address, link.access, stop_fd}, services, removals));
    say(fmt::format("removed {}@{}", image.repository, image.digest));
  }
  return {};
}

/// The ledger forgets what is not there any more: what was removed now, or by one that was killed.
Status forget_removed(inventory::Inventory& inventory, const std::string& registry,
                      const Looked& looked) {
  std::set<std::pair<std::string, std::string>> there;
  for (const auto& one : looked.held) {
    there.emplace(one.repository, one.digest);
  }
  for (const auto& image : looked.report.plan.unused) {
    for (const auto& digest : image.manifests) {
      there.erase({image.repository, digest});
    }
  }
  MESH_TRY(const auto holdings, inventory.holdings(registry, std::nullopt));
  for (const auto& holding : holdings) {
    if (!there.contains({holding.repository, holding.image})) {
      MESH_CHECK(inventory.forget_holding(registry, holding.repository, holding.image));
    }
  }
  return {};
}

Result<std::uint64_t> collect(const RegistryLink& link, const inventory::StatePaths& paths,
                              const PruneOptions& options, const Say& say) {
  const auto before = sum(contents_of(link.storage));
  say("the registry is ended for a moment, to take away what nothing needs");
  MESH_CHECK(registry::collect_garbage(registry_paths(paths), paths.authority_certificate(),
                                       options.timeout, options.stop_fd));
  const auto after = sum(contents_of(link.storage));
  return before > after ? before - after : 0;
}

}  // namespace

Result<PruneReport> prunable(inventory::State& state, const model::Mesh& mesh,
                             const Location& location, bool all) {
  MESH_TRY(auto looked, look(state, mesh, location, all));
  return std::move(looked.report);
}

Result<PruneReport> prune(inventory::State& state, const model::Mesh& mesh,
                          const Location& location, const PruneOptions& options,
                          const registry::Services& services, const Say& say) {
  if (!options.yes) {
    return prunable(state, mesh, location, options.all);
  }
  MESH_TRY(const auto locks, lock_out_others(state.paths, services.clock));
  MESH_TRY(const auto link, reach_registry(state, mesh, location.root, options.stop_fd));
  MESH_CHECK(answers(link, services, options.stop_fd));
  MESH_TRY(auto looked, look(state, mesh, location, options.all));
  auto& report = looked.report;
  MESH_CHECK(remove_images(report.plan, link, services, options.stop_fd, say));
  MESH_CHECK(forget_removed(state.inventory, link.address, looked));
  report.removed = true;
  if (link.managed && (!report.plan.unused.empty() || report.leftover > 0)) {
    MESH_TRY(report.freed, collect(link, state.paths, options, say));
  }
  return std::move(report);
}

}  // namespace mesh::controller
