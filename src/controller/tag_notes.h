#pragma once

#include <optional>

#include "base/result.h"
#include "inventory/inventory.h"
#include "oci/digest.h"
#include "oci/reference.h"

namespace mesh::controller {

/// Who found out what a tag meant.
enum class TagNote {
  Mirrored,  // `mesh mirror` asked upstream
  Built,     // `mesh build` took it: by mesh.lock, or else by upstream
};

/// What a tag meant the last time, for the case that mesh.lock does not say it and upstream cannot
/// be asked. Nothing for a reference that has a digest of its own, and where it is not known.
/// Errors: the inventory's.
[[nodiscard]] Result<std::optional<oci::Digest>> noted_tag(inventory::Inventory& inventory,
                                                           const oci::Reference& source,
                                                           TagNote by);

/// Keeps it; of a reference that has a digest nothing is kept. Errors: the inventory's.
[[nodiscard]] Status note_tag(inventory::Inventory& inventory, const oci::Reference& source,
                              TagNote by, const oci::Digest& digest);

}  // namespace mesh::controller
