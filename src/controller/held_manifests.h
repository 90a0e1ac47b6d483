#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "controller/prune_plan.h"
#include "inventory/inventory.h"

namespace mesh::controller {

/// Every manifest that lies in a managed registry's storage, whether or not it has a tag (the API
/// lists only tags). `registry` is the address under which the inventory knows it. Errors: those of
/// the disk and of the inventory.
[[nodiscard]] Result<std::vector<HeldManifest>> manifests_in_storage(
    const std::string& storage, inventory::Inventory& inventory, const std::string& registry);

/// What the inventory says of a registry that others run: what Mesh put there, and nothing else.
[[nodiscard]] Result<std::vector<HeldManifest>> manifests_on_record(inventory::Inventory& inventory,
                                                                    const std::string& registry);

}  // namespace mesh::controller
