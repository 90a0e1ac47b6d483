#include "controller/image_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "builder/build_key.h"
#include "builder/context.h"
#include "controller/building.h"
#include "controller/disk_files.h"
#include "controller/lock_file.h"
#include "controller/mirroring.h"
#include "oci/reference.h"

namespace mesh::controller {

namespace {

class ImagePlanner {
 public:
  ImagePlanner(inventory::Inventory& inventory, const Location& location, const model::Mesh& mesh,
               builder::LockFile lock, int stop_fd)
      : inventory_(inventory),
        location_(location),
        mesh_(mesh),
        lock_(std::move(lock)),
        own_(registry_address(mesh.registry)),
        stop_fd_(stop_fd) {}

  Result<ImagePlan> run() {
    const auto modules = modules_with_images(mesh_);
    if (modules.empty()) {
      return std::move(out_);
    }
    MESH_TRY(auto platforms, node_platforms(inventory_));
    const auto read = read_build_inputs(mesh_, DiskFiles(location_.root), location_,
                                        {modules, machine_platform(), std::move(platforms)});
    for (const auto& problem : read.problems) {
      if (problem.severity == model::Severity::Error) {
        return fail(Code::InvalidArgument, problem.message, problem.hint, problem.place);
      }
    }
    for (const auto& input : read.inputs) {
      MESH_CHECK(take_built(input));
    }
    for (const auto& module : mesh_.modules) {
      for (const auto& component : module.file->components) {
        if (component.image && !module.on.empty()) {
          MESH_CHECK(take_image(module, component));
        }
      }
    }
    std::ranges::sort(out_.known);
    std::ranges::sort(out_.needed, {},
                      [](const auto& one) { return std::pair(one.module, one.component); });
    return std::move(out_);
  }

 private:
  void need(const model::Module& module, const model::Component& component, std::string why,
            std::string inputs) {
    out_.needed.push_back({module.name.text(),
                           component.name.text(),
                           {std::move(why), component.place},
                           std::move(inputs)});
  }

  /// What the reference means, as far as that is known here.
  [[nodiscard]] Result<std::optional<std::string>> digest_of(const std::string& text) const {
    MESH_TRY(const auto reference, oci::Reference::parse(text));
    if (reference.digest()) {
      return std::optional(reference.digest()->text());
    }
    const auto locked = lock_.images.find(lock_name(reference));
    return locked == lock_.images.end() ? std::nullopt : std::optional(locked->second);
  }

  [[nodiscard]] Result<bool> holds(const std::string& repository, const std::string& digest) const {
    MESH_TRY(const auto holdings, inventory_.holdings(own_, digest));
    return std::ranges::any_of(holdings,
                               [&](const auto& one) { return one.repository == repository; });
  }

  Status take_built(const BuildInput& input) {
    std::vector<std::string> bases;
    std::string unknown;  // a base that nothing here says the digest of
    for (const auto& resolved : input.platforms) {
      for (const auto& use : resolved.images) {
        MESH_TRY(const auto digest, digest_of(use.text));
        unknown = digest || !unknown.empty() ? unknown : use.text;
        bases.push_back(base_line(use, digest.value_or("?")));
      }
    }
    MESH_TRY(const auto hash, builder::hash_context(input.context, input.ignore, stop_fd_));
    out_.contexts[input.name()] = hash.digest;
    const auto key = key_of_build(input, hash.digest, std::move(bases));
    if (!unknown.empty()) {
      need(*input.module, *input.component,
           fmt::format("mesh.lock does not say yet what {} is", unknown), key);
      return {};
    }
    const auto& module = input.module->name.text();
    const auto& component = input.component->name.text();
    MESH_TRY(const auto record, inventory_.built(own_, module, component, key));
    bool held = false;
    if (record) {
      MESH_TRY(held, holds(record->repository, record->digest));
    }
    if (!held) {
      need(*input.module, *input.component,
           record ? "the registry does not hold what was built of it"
                  : "it was not built of these files yet",
           key);
      return {};
    }
    out_.known.push_back({module, component, record->repository, record->digest});
    return {};
  }

  Status take_image(const model::Module& module, const model::Component& component) {
    const auto reference = oci::Reference::parse(*component.image);
    if (!reference) {
      auto error = reference.error();
      error.code = Code::InvalidArgument;
      error.place = component.place;
      return std::unexpected(std::move(error));
    }
    MESH_TRY(const auto repository, repository_of_image(own_, *reference));
    MESH_TRY(const auto digest, digest_of(*component.image));
    bool held = false;
    if (digest) {
      MESH_TRY(held, holds(repository.text(), *digest));
    }
    if (!held) {
      need(module, component, fmt::format("the registry does not hold {}", *component.image),
           digest.value_or("?"));
      return {};
    }
    out_.known.push_back({module.name.text(), component.name.text(), repository.text(), *digest});
    return {};
  }

  inventory::Inventory& inventory_;
  const Location& location_;
  const model::Mesh& mesh_;
  builder::LockFile lock_;
  std::string own_;
  int stop_fd_;
  ImagePlan out_;
};

}  // namespace

std::vector<std::string> modules_with_images(const model::Mesh& mesh) {
  std::vector<std::string> out;
  for (const auto& module : mesh.modules) {
    const bool has = std::ranges::any_of(module.file->components, [](const auto& component) {
      return component.build || component.image;
    });
    if (has && !module.on.empty()) {
      out.push_back(module.name.text());
    }
  }
  return out;
}

std::string lock_name(const oci::Reference& reference) {
  return reference.digest() ? std::string()
                            : reference.name() + ":" + reference.tag().value_or("latest");
}

std::string base_line(const containerfile::ImageUse& use, const std::string& digest) {
  return fmt::format("{}@{} {}", use.text, digest, use.platform);
}

std::string key_of_build(const BuildInput& input, const std::string& context,
                         std::vector<std::string> bases) {
  const auto& build = *input.component->build;
  builder::KeyParts parts;
  parts.context = context;
  parts.containerfile = input.bytes;
  parts.target = build.target.value_or("");
  parts.args = build.args;
  parts.secrets = build.secrets;
  std::ranges::sort(parts.secrets);
  for (const auto& resolved : input.platforms) {
    parts.platforms.push_back(resolved.settings.platform);
  }
  parts.bases = std::move(bases);
  return builder::build_key(parts);
}

Result<ImagePlan> plan_images(inventory::Inventory& inventory, const Location& location,
                              const model::Mesh& mesh, int stop_fd) {
  MESH_TRY(auto lock, read_lock(location));
  return ImagePlanner(inventory, location, mesh, std::move(lock), stop_fd).run();
}

}  // namespace mesh::controller
