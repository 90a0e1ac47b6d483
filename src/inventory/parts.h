#pragma once

#include <string>
#include <string_view>

#include "inventory/inventory.h"
#include "inventory/sqlite.h"

namespace mesh::inventory {

/// What an Inventory is made of; the room's own.
struct Inventory::Parts {
  Database database;
  secrets::SealKey key;
  const os::Clock* clock;  // both outlive the inventory
  os::Random* random;
  std::string mesh_id;

  [[nodiscard]] std::string now() const { return os::rfc3339(clock->now()); }

  /// Seals a value for its place (`credential/one.shop`) in this mesh.
  [[nodiscard]] Result<std::string> seal(std::string_view plain, const std::string& place) const;
  [[nodiscard]] Result<secrets::Secret> open(std::string_view sealed,
                                             const std::string& place) const;

  /// Within a transaction of the caller's.
  [[nodiscard]] Status insert_credentials(std::span<const NewCredential> credentials);
};

}  // namespace mesh::inventory
