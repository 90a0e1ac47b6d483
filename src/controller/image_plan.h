#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/place.h"
#include "base/result.h"
#include "builder/lock_file.h"
#include "containerfile/resolve.h"
#include "controller/build_inputs.h"
#include "controller/workspace.h"
#include "inventory/state.h"
#include "model/declarations.h"
#include "oci/reference.h"

namespace mesh::controller {

/// An image that a push must bring first: build it, or mirror it.
struct ImageNeed {
  std::string module;
  std::string component;
  Because because;
  /// Of what it would be made: the key of the build, or as much of it as is known. Two needs with
  /// the same inputs make the same image, but for a tag that mesh.lock does not know.
  std::string inputs;
};

/// What the components with an image would run.
struct ImagePlan {
  std::vector<inventory::PushImage> known;  // those that need nothing, sorted
  std::vector<ImageNeed> needed;            // the others, by module and component
  std::map<std::string, std::string>
      contexts;  // `module/component` of a build -> its files' digest
};

/// Tells what is known from what is needed, by the files, mesh.lock and the records alone: nobody
/// is asked. Modules on no node count for nothing. Errors: Corrupt (mesh.lock), those of contexts,
/// Interrupted (`stop_fd`).
[[nodiscard]] Result<ImagePlan> plan_images(inventory::Inventory& inventory,
                                            const Location& location, const model::Mesh& mesh,
                                            int stop_fd);

/// The modules that run somewhere and have a component with an image.
[[nodiscard]] std::vector<std::string> modules_with_images(const model::Mesh& mesh);

/// The key of a build: `context` is the digest of its context, `bases` a `base_line` for each image
/// that it uses, in their order.
[[nodiscard]] std::string key_of_build(const BuildInput& input, const std::string& context,
                                       std::vector<std::string> bases);
[[nodiscard]] std::string base_line(const containerfile::ImageUse& use, const std::string& digest);

/// As mesh.lock names what a reference means: `docker.io/library/debian:12`; empty where it has a
/// digest of its own.
[[nodiscard]] std::string lock_name(const oci::Reference& reference);

}  // namespace mesh::controller
