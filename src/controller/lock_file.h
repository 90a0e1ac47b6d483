#pragma once

#include "base/result.h"
#include "builder/lock_file.h"
#include "controller/workspace.h"

namespace mesh::controller {

/// mesh.lock beside mesh.toml; an empty lock where there is no such file. Errors: as
/// builder::LockFile::parse and os::read_file.
[[nodiscard]] Result<builder::LockFile> read_lock(const Location& location);

/// Replaces mesh.lock. Errors: as os::write_file_atomic.
[[nodiscard]] Status write_lock(const Location& location, const builder::LockFile& lock);

}  // namespace mesh::controller
