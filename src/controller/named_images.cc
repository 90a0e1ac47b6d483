#include "controller/named_images.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "builder/lock_file.h"
#include "controller/build_inputs.h"
#include "controller/building.h"
#include "controller/disk_files.h"
#include "controller/image_plan.h"
#include "controller/lock_file.h"
#include "controller/mirroring.h"
#include "controller/nodes.h"
#include "controller/recorded.h"
#include "controller/tag_notes.h"
#include "oci/reference.h"
#include "os/files.h"

namespace mesh::controller {

namespace {

constexpr std::size_t kPushes = 10;

std::string component_name(const std::string& module, const std::string& component) {
  return module + "." + component;
}

class Names {
 public:
  Names(inventory::State& state, const Location& location, const model::Mesh& mesh)
      : state_(state), location_(location), own_(registry_address(mesh.registry)) {}

  Status take_declared(const model::Mesh& mesh) {
    MESH_CHECK(take_mesh(mesh, ""));
    MESH_TRY(auto platforms, node_platforms(state_.inventory));
    const auto inputs = read_build_inputs(mesh, DiskFiles(location_.root), location_,
                                          {{}, machine_platform(), std::move(platforms)});
    for (const auto& problem : inputs.problems) {
      if (problem.severity == model::Severity::Error) {
        return fail(Code::InvalidArgument, problem.message, problem.hint, problem.place);
      }
    }
    for (const auto& input : inputs.inputs) {
      for (const auto& resolved : input.platforms) {
        for (const auto& use : resolved.images) {
          MESH_CHECK(take_reference(use.text, "a base of " + input.name()));
        }
      }
    }
    return {};
  }

  Status take_lock() {
    MESH_TRY(lock_, read_lock(location_));
    for (const auto& [name, digest] : lock_.images) {
      take(digest, "mesh.lock: " + name);
    }
    return {};
  }

  /// What the last pushes declared; afterwards it is known which components they had.
  Status take_pushes() {
    MESH_TRY(const auto pushes, state_.inventory.history(kPushes));
    for (const auto& push : pushes) {
      MESH_TRY(const auto recorded, mesh_of_push(state_.inventory, push));
      MESH_CHECK(take_mesh(recorded.mesh, fmt::format(", as of push {}", push.number)));
      MESH_TRY(const auto images, state_.inventory.images(push.number));
      for (const auto& image : images) {
        take(image.digest, fmt::format("the image of {} as of push {}",
                                       component_name(image.module, image.component), push.number));
      }
    }
    if (pushes.size() == kPushes) {
      oldest_ = pushes.back().time;
    }
    return {};
  }

  /// Of each component that some push had, what was built since the oldest push, and the latest
  /// before it, which that push had.
  Status take_built() {
    MESH_TRY(const auto built, state_.inventory.built_images());
    std::set<std::string> seen_before;
    for (const auto& one : built) {  // the latest of each component first
      const auto name = component_name(one.module, one.component);
      const bool since = !oldest_ || one.time >= *oldest_;
      if (since || (components_.contains(name) && seen_before.insert(name).second)) {
        take(one.digest, fmt::format("built for {} at {}", name, one.time));
      }
    }
    return {};
  }

  /// What each node was told last, however long ago.
  Status take_told() {
    MESH_TRY(const auto nodes, state_.inventory.nodes());
    for (const auto& node : nodes) {
      MESH_TRY(const auto images, state_.inventory.images(node.declared));
      for (const auto& image : images) {
        take(image.digest, fmt::format("node {} was told to run it", node.name));
      }
    }
    return {};
  }

  void take(const std::string& key, std::string because) {
    names_.emplace(key, std::move(because));
  }

  std::map<std::string, std::string> done() { return std::move(names_); }

 private:
  Status take_reference(const std::string& text, const std::string& because) {
    const auto reference = oci::Reference::parse(text);
    if (!reference) {
      return {};  // it names nothing that a registry could hold
    }
    if (reference->digest()) {
      take(reference->digest()->text(), because);
      return {};
    }
    const auto repository = repository_of_image(own_, *reference);
    if (!repository) {
      return {};
    }
    take(repository->text() + ":" + reference->target(), because);
    if (lock_.images.contains(lock_name(*reference))) {
      return {};  // by its digest: take_lock
    }
    // Which copy a build would take is not certain: what was built on last, what upstream says, or
    // what git has in mesh.lock. So each of them stays.
    const auto unsure = fmt::format("{}; mesh.lock does not say what {} is", because, text);
    for (const auto by : {TagNote::Built, TagNote::Mirrored}) {
      MESH_TRY(const auto noted, noted_tag(state_.inventory, *reference, by));
      if (noted) {
        take(noted->text(), unsure);
      }
    }
    take(repository->text(), unsure);
    return {};
  }

  Status take_mesh(const model::Mesh& mesh, const std::string& when) {
    for (const auto& module : mesh.modules) {
      for (const auto& component : module.file->components) {
        const auto name = component_name(module.name.text(), component.name.text());
        components_.insert(name);
        if (component.image) {
          MESH_CHECK(take_reference(*component.image, "the image of " + name + when));
        }
      }
    }
    return {};
  }

  inventory::State& state_;
  const Location& location_;
  std::string own_;  // the address of the mesh's registry
  builder::LockFile lock_;
  std::map<std::string, std::string> names_;
  std::set<std::string> components_;
  std::optional<std::string> oldest_;  // when the 10th last push was made; nothing: all count
};

}  // namespace

Result<std::map<std::string, std::string>> named_images(
    inventory::State& state, const model::Mesh& mesh, const Location& location,
    const std::map<std::string, std::string>& running) {
  Names names(state, location, mesh);
  for (const auto& [digest, who] : running) {
    names.take(digest, who);
  }
  MESH_CHECK(names.take_told());
  MESH_CHECK(names.take_lock());
  MESH_CHECK(names.take_declared(mesh));
  MESH_CHECK(names.take_pushes());
  MESH_CHECK(names.take_built());
  return names.done();
}

Result<std::map<std::string, std::string>> running_images(inventory::State& state,
                                                          const model::Mesh& mesh,
                                                          const Location& location) {
  std::map<std::string, std::string> out;
  MESH_TRY(const auto nodes, state.inventory.nodes());
  if (std::ranges::none_of(nodes, [](const auto& node) { return node.key.has_value(); })) {
    return out;
  }
  MESH_TRY(auto link, connect_bus(state, mesh, location.root, kBusTimeout));
  MESH_TRY(const auto standings, node_standings(state, mesh, link.mesh, {}));
  for (const auto& node : standings) {
    if (!node.report) {
      continue;
    }
    for (const auto& module : node.report->modules) {
      for (const auto& component : module.components) {
        if (!component.digest.empty()) {
          out[component.digest] =
              fmt::format("node {} runs it as {}.{}", node.name, module.name, component.name);
        }
      }
    }
  }
  return out;
}

}  // namespace mesh::controller
