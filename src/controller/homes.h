#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "controller/environment.h"
#include "controller/unit.h"
#include "controller/workspace.h"
#include "inventory/state.h"
#include "model/declarations.h"

namespace mesh::controller {

/// Where the instances of this machine live. As root each has a user of its own and a directory of
/// its own below /run/mesh/<mesh id>, 0700, with a copy of its module's folder and of the files
/// that its environment names: no instance can read another's, nor the state. Not as root all run
/// as the operator, in their module's folder.
class Homes {
 public:
  /// `root` is the directory of mesh.toml. `state` is borrowed.
  [[nodiscard]] static Result<Homes> open(inventory::State& state, const std::string& root,
                                          Edges edges);

  /// How `part` runs; its files are made or made anew. Errors: as prepare_environment, and those of
  /// the files.
  [[nodiscard]] Result<UnitSpec> prepare(const model::Mesh& mesh, const Part& part);

  /// Takes away what was made outside the state.
  [[nodiscard]] Status remove();

  /// True where every instance has a user of its own.
  [[nodiscard]] bool separate() const { return separate_; }

 private:
  Homes(inventory::State& state, std::string root, Edges edges);
  [[nodiscard]] Result<os::Identity> user_of(const std::string& instance);
  [[nodiscard]] Status settle(const Part& part, const std::string& home, os::Identity user);

  inventory::State* state_;
  std::string root_;
  Edges edges_;
  std::string base_;  // /run/mesh/<mesh id>
  bool separate_ = false;
  std::map<std::string, bool> settled_;  // instances whose home was made by this object
};

}  // namespace mesh::controller
