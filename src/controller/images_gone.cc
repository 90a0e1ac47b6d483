#include "controller/images_gone.h"

#include "controller/mirroring.h"
#include "controller/registry_link.h"
#include "os/server_record.h"
#include "registry/remover.h"

namespace mesh::controller {
namespace {

constexpr os::Milliseconds kAskedWithin{5'000};

}  // namespace

Result<std::vector<inventory::PushImage>> images_gone(
    const inventory::State& state, const model::Mesh& mesh, const std::string& root,
    const std::vector<inventory::PushImage>& images, const registry::Services& services,
    int stop_fd) {
  std::vector<inventory::PushImage> out;
  if (images.empty()) {
    return out;
  }
  if (mesh.registry.managed) {
    MESH_TRY(const auto record, os::running_server(registry_paths(state.paths).record()));
    if (!record) {
      return fail(Code::Unavailable, "the registry does not run");
    }
  }
  const auto options = mirror_options(mesh, root, state.paths.root());
  std::vector<registry::Removal> asked;
  for (const auto& image : images) {
    asked.push_back({image.repository, image.digest});
  }
  MESH_TRY(const auto there,
           registry::have_manifests({options.registry, options.access, stop_fd, kAskedWithin},
                                    services, asked));
  for (std::size_t at = 0; at < images.size(); ++at) {
    if (!there[at]) {
      out.push_back(images[at]);
    }
  }
  return out;
}

}  // namespace mesh::controller
