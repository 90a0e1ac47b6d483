#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inventory/inventory.h"
#include "inventory/state.h"
#include "model/declarations.h"

/// The environment of an instance's component (docs: the table of variables), and the files that it
/// names. `mesh env` and `mesh up` give the same.
namespace mesh::controller {

using Variables = std::map<std::string, std::string>;

/// One component of one instance. `component` is nullptr for a module that is run by something
/// else. All point into the mesh that they were found in.
struct Part {
  const model::Node* node = nullptr;
  const model::Module* module = nullptr;
  const model::Component* component = nullptr;

  [[nodiscard]] model::InstanceName instance() const { return {node->name, module->name}; }
};

/// The part that `instance` (`node.module`) and `component` name. Without a component it is the
/// module's first, if it has any. Errors: NotFound, with the nearest name as the hint.
[[nodiscard]] Result<Part> find_part(const model::Mesh& mesh, std::string_view instance,
                                     const std::optional<std::string>& component);

/// Where a part's files are: `<environments>/<node>.<module>/`, the secrets of each component in a
/// directory of its own.
class PartFiles {
 public:
  PartFiles(const inventory::StatePaths& paths, const Part& part);
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] std::string password() const { return directory_ + "/password"; }
  [[nodiscard]] std::string key() const { return directory_ + "/key"; }
  [[nodiscard]] std::string tools() const { return directory_ + "/tools.json"; }
  /// The certificate of the mesh's own authority.
  [[nodiscard]] std::string authority() const { return directory_ + "/ca.pem"; }
  [[nodiscard]] const std::string& secrets() const { return secrets_; }
  /// Values of variables that are secrets, for `shown_variables`.
  [[nodiscard]] const std::string& variables() const { return variables_; }

 private:
  std::string directory_;
  std::string secrets_;
  std::string variables_;
};

/// The variables `MESH_…`. Paths in the declarations are relative to `root`. Pure.
[[nodiscard]] Variables mesh_variables(const model::Mesh& mesh, const Part& part,
                                       const PartFiles& files, const std::string& root);

/// The tools' schemas, as MESH_TOOLS_FILE holds them:
/// `{"tools":[{"name","subject","description","input","timeout_seconds"}]}`. Pure.
[[nodiscard]] std::string tools_document(const model::Module& module);

/// The declared variables: the component's, then the module's, then the node's; the later wins.
/// Pure.
[[nodiscard]] model::Env declared_variables(const Part& part);

/// A secret that a module needs, and where that is written.
struct NeededSecret {
  std::string module;
  std::string name;
  Place place;
  std::string variable;  // that is to hold it; empty where only a file does
};

/// Every secret that the components on any node need, sorted, each once: what a push looks up
/// before it changes anything. Pure.
[[nodiscard]] std::vector<NeededSecret> needed_secrets(const model::Mesh& mesh);

/// Errors: InvalidArgument, naming all that are not set and the verb that sets them, with the place
/// of the first; or one with a NUL byte that is to be a variable.
[[nodiscard]] Status check_secrets(inventory::Inventory& inventory, const model::Mesh& mesh);

/// A part's variables, and which of them hold a secret's value.
struct PreparedEnvironment {
  Variables variables;
  std::set<std::string> secret;  // names
  std::string secret_files;      // a digest of the names and values of its files that hold secrets
};

/// Writes the part's files (directories 0700, files 0400) and returns all its variables, declared
/// ones included. Errors: NotFound (no credential yet), InvalidArgument (a secret is not set), and
/// those of the files.
[[nodiscard]] Result<PreparedEnvironment> prepare_environment(inventory::State& state,
                                                              const model::Mesh& mesh,
                                                              const Part& part,
                                                              const std::string& root);

/// The variables as they may be shown: where one holds a secret, the path of a file (0400) that is
/// written with its value.
[[nodiscard]] Result<Variables> shown_variables(const PartFiles& files,
                                                const PreparedEnvironment& prepared);

}  // namespace mesh::controller
