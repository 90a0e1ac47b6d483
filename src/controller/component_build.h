#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "builder/buildah.h"
#include "controller/build_inputs.h"
#include "controller/building.h"
#include "secrets/secret.h"

namespace mesh::controller {

/// One component's build, ready to be made.
struct ComponentBuild {
  const BuildInput* input = nullptr;
  std::string key;
  std::string context;  // the context's digest
  std::map<std::pair<std::string, std::string>, std::string>
      pins;                                         // (base as written, platform) -> reference
  std::vector<std::string> bases;                   // for the key
  std::map<std::string, std::string> mirror_words;  // base as written -> what `mesh mirror` is told
  std::map<std::string, secrets::Secret> secrets;
};

struct ComponentPlaces {
  std::string folder;  // of the builder, in the state
  std::string logs;
  os::Milliseconds timeout{};
  int stop_fd = -1;
};

struct ComponentResult {
  std::string repository;
  std::string digest;
  std::optional<BuildTrouble> trouble;
};

/// Stages the context, rewrites the file, builds for each platform and pushes. May run on any
/// thread; touches no inventory. Errors: Interrupted, Timeout, Unavailable, Conflict (the context
/// changed meanwhile).
[[nodiscard]] Result<ComponentResult> build_component(
    const ComponentBuild& work, const builder::Buildah& builder, const ComponentPlaces& places,
    const std::function<void(std::string_view)>& tell);

}  // namespace mesh::controller
