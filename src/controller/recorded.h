#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "inventory/inventory.h"
#include "model/read.h"

namespace mesh::controller {

/// Declarations as a push accepted them, from the inventory: what existed beside them then (a
/// directory that is built, a volume's path) is taken to be there, since it was checked.
class RecordedFiles : public model::Files {
 public:
  explicit RecordedFiles(std::vector<model::AcceptedFile> files);
  [[nodiscard]] Kind kind(const std::string& path) const override;
  [[nodiscard]] Result<std::string> read(const std::string& path) const override;

 private:
  std::vector<model::AcceptedFile> files_;  // sorted by path
};

/// What the latest recorded push declared.
struct Recorded {
  inventory::Push push;
  model::Mesh mesh;
};

/// What a recorded push declared. Errors: as below.
[[nodiscard]] Result<Recorded> mesh_of_push(inventory::Inventory& inventory, inventory::Push push);

/// Nothing before the first push. Errors: Corrupt where the records cannot be read as declarations.
[[nodiscard]] Result<std::optional<Recorded>> recorded_mesh(inventory::Inventory& inventory);

}  // namespace mesh::controller
