#include "controller/registry_standing.h"

#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "controller/mirroring.h"
#include "controller/registry_link.h"
#include "registry/probe.h"

namespace mesh::controller {

namespace {

namespace fs = std::filesystem;

constexpr os::Milliseconds kProbe{3000};
constexpr std::size_t kMostFiles = 50'000;  // about a tenth of a second

/// The bytes of the files below; nothing where they are too many to look at each time.
std::optional<std::uint64_t> bytes_below(const std::string& directory) {
  std::uint64_t bytes = 0;
  std::size_t files = 0;
  std::error_code failed;
  for (fs::recursive_directory_iterator each(directory, failed), end; !failed && each != end;
       each.increment(failed)) {
    if (++files > kMostFiles) {
      return std::nullopt;
    }
    std::error_code gone;  // an upload that ended meanwhile
    if (each->is_regular_file(gone)) {
      const auto size = each->file_size(gone);
      bytes += gone ? 0 : size;
    }
  }
  return bytes;
}

Status ask_managed(RegistryStanding& out, const inventory::StatePaths& paths) {
  MESH_TRY(const auto record, os::running_server(registry_paths(paths).record()));
  if (!record) {
    return fail(Code::Unavailable, "the registry does not run",
                "start it with `mesh controller` or `mesh up`");
  }
  out.version = record->version;
  const auto hello =
      registry::registry_hello(record->host, record->port, kProbe, paths.authority_certificate());
  return hello ? Status() : std::unexpected(hello.error());
}

Status ask_external(const RegistryStanding& out, const registry::Access& access) {
  const os::SystemClock clock;
  const auto answer = registry::probe(clock, out.address, access, kProbe);
  return answer ? Status() : std::unexpected(answer.error());
}

}  // namespace

Result<RegistryStanding> registry_standing(inventory::State& state, const model::Mesh& mesh,
                                           const std::string& root) {
  const auto options = mirror_options(mesh, root, state.paths.root());
  RegistryStanding out;
  out.needed = needs_registry(mesh);
  out.address = options.registry;
  MESH_TRY(const auto holdings, state.inventory.holdings(out.address, std::nullopt));
  std::set<std::string> images;
  for (const auto& holding : holdings) {
    images.insert(holding.image);
  }
  out.images = images.size();
  if (mesh.registry.managed) {
    out.bytes = bytes_below(options.storage);
  }
  auto asked =
      mesh.registry.managed ? ask_managed(out, state.paths) : ask_external(out, options.access);
  out.running = asked.has_value();
  if (!asked) {
    out.failure = std::move(asked).error();
  }
  return out;
}

}  // namespace mesh::controller
