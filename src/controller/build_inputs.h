#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "containerfile/builder.h"
#include "containerfile/file.h"
#include "containerfile/ignore.h"
#include "containerfile/resolve.h"
#include "controller/workspace.h"
#include "inventory/inventory.h"
#include "model/problem.h"
#include "model/read.h"

namespace mesh::controller {

/// A component that is built, and what its build is read from. `module` and `component` point into
/// the mesh that it was made of.
struct BuildInput {
  const model::Module* module = nullptr;
  const model::Component* component = nullptr;
  std::string context;  // absolute
  std::string path;     // the Containerfile, relative to mesh.toml
  std::string bytes;    // of it
  containerfile::File file;
  containerfile::IgnoreRules ignore;
  std::vector<containerfile::Resolved> platforms;  // one for each platform, in their order
  std::shared_ptr<const std::string> shown;  // the Containerfile as the operator would write it

  /// `shop/server`
  [[nodiscard]] std::string name() const;
  [[nodiscard]] Place place(containerfile::Spot spot) const;
};

struct BuildInputs {
  std::vector<BuildInput> inputs;  // those that could be read
  std::vector<model::Problem> problems;
};

/// What to build: every component with `build`, or those of `modules`. `build_platform` is this
/// machine's. A component that does not say what it is built for is built for the platforms that
/// its nodes report, and for this machine's where one of them is not known.
struct BuildSelection {
  std::vector<std::string> modules;
  std::string build_platform = "linux/amd64";
  std::map<std::string, std::string> node_platforms{};  // node -> `linux/arm64`
};

/// What the machines that have joined report of themselves, for `node_platforms`.
[[nodiscard]] Result<std::map<std::string, std::string>> node_platforms(
    inventory::Inventory& inventory);

/// Reads each Containerfile and the ignore rules; a context is a folder at or below mesh.toml, and
/// the state's folder is never a part of it. Nothing of a context itself is read.
[[nodiscard]] BuildInputs read_build_inputs(const model::Mesh& mesh, const model::Files& files,
                                            const Location& location,
                                            const BuildSelection& selection);

/// What the builder at hand cannot read, and RUNs for platforms that this machine cannot run.
[[nodiscard]] std::vector<model::Problem> check_builder(const std::vector<BuildInput>& inputs,
                                                        containerfile::BuilderVersion version);

/// This machine's platform: `linux/amd64`.
[[nodiscard]] std::string machine_platform();

}  // namespace mesh::controller
