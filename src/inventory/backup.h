#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "inventory/state.h"
#include "os/random.h"
#include "secrets/signing.h"

namespace mesh::inventory {

/// One consistent archive of the inventory and the keys, and of `lock_file` (the bytes of
/// `mesh.lock`, empty where there is none), sealed to the mesh's recovery key: only who has the
/// text that `mesh init` showed can open it. Returns the bytes of the file. Errors: Corrupt (the
/// inventory is damaged: what is kept already is the better backup), and as Inventory.
[[nodiscard]] Result<std::string> make_backup(State& state, std::string_view lock_file,
                                              os::Random& random);

/// What `restore_backup` put back.
struct Restored {
  Identity identity;
  std::string lock_file;  // the bytes of `mesh.lock`, for the caller to write; may be empty
};

/// Puts a backup back as the state directory `root`, all or nothing: it is unpacked beside it,
/// checked and moved into place. Errors: Conflict (`root` holds something), PermissionDenied (the
/// recovery key is another mesh's), Corrupt (the file is damaged), InvalidArgument (no backup of
/// Mesh), Unsupported (made by a newer Mesh), Resource.
[[nodiscard]] Result<Restored> restore_backup(const std::string& root, std::string_view bytes,
                                              const secrets::SigningKey& recovery_key,
                                              const os::Clock& clock, os::Random& random);

}  // namespace mesh::inventory
