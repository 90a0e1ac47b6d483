#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "controller/workspace.h"
#include "declaration/declaration.h"
#include "inventory/state.h"
#include "model/declarations.h"
#include "secrets/signing.h"

namespace mesh::controller {

/// Composes the declarations of a mesh's nodes from the records: what each is to run, with the
/// images of a push, and the names of the values that are sealed to it.
class DeclarationComposer {
 public:
  /// `state` and `mesh` are borrowed; `root` is the directory of mesh.toml. Errors: those of the
  /// authority's file and of `ca` files.
  [[nodiscard]] static Result<DeclarationComposer> make(inventory::State& state,
                                                        const model::Mesh& mesh,
                                                        std::vector<inventory::PushImage> images,
                                                        const std::string& root);

  /// The declaration of a node, numbered 0 and with nothing sealed in it.
  [[nodiscard]] declaration::Declaration compose(const model::Node& node) const;
  /// A text that is another one where anything that the node would be told is another, values
  /// included. (Of a component whose image is not there yet nothing can be told.)
  [[nodiscard]] std::string content(const declaration::Declaration& declaration) const;
  /// The values that it names. Errors: NotFound (a credential or secret is missing).
  [[nodiscard]] Result<declaration::Values> values(const declaration::Declaration& declaration);
  /// The declaration as it goes out: numbered, its values sealed to `key`, and signed. `password`,
  /// where it is not empty, becomes the node's own. Errors: as `values`; Resource where it is
  /// larger than a declaration may be.
  [[nodiscard]] Result<std::string> envelope(declaration::Declaration declaration,
                                             std::int64_t number, const secrets::PublicKey& key,
                                             const secrets::Secret& password, os::Random& random);

 private:
  DeclarationComposer(inventory::State& state, const model::Mesh& mesh,
                      std::vector<inventory::PushImage> images, std::string root)
      : state_(state), mesh_(mesh), images_(std::move(images)), root_(std::move(root)) {}
  [[nodiscard]] declaration::Module module_of(const model::Node& node,
                                              const model::Module& module) const;
  [[nodiscard]] declaration::Component component_of(const model::Node& node,
                                                    const model::Module& module,
                                                    const model::Component& component) const;
  [[nodiscard]] std::string image_of(const model::Node& node, const std::string& module,
                                     const std::string& component) const;
  [[nodiscard]] std::string mark_of(const std::string& module, const std::string& name) const;

  inventory::State& state_;
  const model::Mesh& mesh_;
  std::vector<inventory::PushImage> images_;
  std::string root_;
  std::optional<model::Mesh> former_;  // with its bus where it still runs, if that differs
  std::string bus_ca_;                 // PEM; empty: the bus is plain, or trusted by the system
  std::string registry_ca_;            // the same
  inventory::Hashes hashes_;
  std::map<inventory::SecretName, std::string> marks_;
};

/// The certificates that a node trusts beside the system's, PEM: of the mesh's own authority where
/// the server is Mesh's and speaks TLS, else of the file `ca`; empty where there is neither.
[[nodiscard]] Result<std::string> node_ca(const inventory::StatePaths& paths,
                                          const std::string& root, bool own_tls,
                                          const std::optional<std::string>& ca);

}  // namespace mesh::controller
