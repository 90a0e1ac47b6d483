#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/declarations.h"

/// Meshes made without TOML: what `model::read_mesh` would give for the same declarations. Names
/// are not checked again: a wrong one ends the test.
namespace mesh::test {

class MeshBuilder {
 public:
  explicit MeshBuilder(std::string name = "home");

  MeshBuilder& node(std::string_view name);
  MeshBuilder& seat(std::string_view name, const std::vector<std::string>& accepts,
                    const std::vector<std::string>& emits = {});
  /// `verb` of the seat made last is fed by `events`.
  MeshBuilder& from(std::string_view verb, const std::vector<std::string>& events);
  MeshBuilder& module(std::string_view name, const std::vector<std::string>& on);
  // Of the module made last.
  MeshBuilder& emits(std::string_view event);
  MeshBuilder& consumes(std::string_view event, model::From from = {});
  MeshBuilder& holds(std::string_view seat);
  MeshBuilder& uses(std::string_view seat_and_verb);
  MeshBuilder& calls(std::string_view module_and_tool);
  MeshBuilder& tool(std::string_view name);

  /// The mesh so far, its lists sorted by name, with the default settings.
  [[nodiscard]] model::Mesh mesh() const;

 private:
  [[nodiscard]] Place next_place();         // in mesh.toml
  [[nodiscard]] Place next_module_place();  // in the module.toml of the module made last

  model::Mesh mesh_;
  std::vector<std::shared_ptr<model::ModuleFile>> files_;  // of mesh_.modules, still to be changed
  std::shared_ptr<const std::string> mesh_file_;
  std::shared_ptr<const std::string> module_file_;
  int line_ = 0;
};

/// The worked example of the design: telegram holds a seat, shop uses it, audit hears shop.
[[nodiscard]] model::Mesh small_mesh();
/// `examples/shop`: beside that a call, two tools and a consumed seat event.
[[nodiscard]] model::Mesh shop_mesh();

/// `[events]` and `[delivery]` as they are without a word in `mesh.toml`.
[[nodiscard]] model::EventsSettings default_events();
[[nodiscard]] model::Delivery default_delivery();

}  // namespace mesh::test
