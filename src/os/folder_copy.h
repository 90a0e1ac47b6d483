#pragma once

#include <string>

#include "base/result.h"
#include "os/process.h"

namespace mesh::os {

/// Copies what is in `from` into `to` (made where it is missing), links as links, without `.git`
/// and without the entry `skip` (a path; empty: none). Errors: those of the files.
[[nodiscard]] Status copy_folder(const std::string& from, const std::string& to,
                                 const std::string& skip);

/// Hands `path` and all below it to `user`, itself last; links are not followed. Nobody else may
/// write there meanwhile. Errors: PermissionDenied, those of the files.
[[nodiscard]] Status give_folder(const std::string& path, Identity user);

}  // namespace mesh::os
