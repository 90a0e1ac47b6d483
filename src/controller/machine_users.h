#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "controller/workspace.h"

/// The users that instances run as on this machine, whichever mesh they are of: no two share one.
namespace mesh::controller {

/// uid -> `<mesh id> <instance>`.
using UserTable = std::map<std::uint32_t, std::string>;

/// The uid of `who`: the one that it has in `taken`, or the least that nobody has.
[[nodiscard]] std::uint32_t user_for(const UserTable& taken, const std::string& who);

/// The uid of `instance` of the mesh, kept in `directory`/users.json (root's alone, gone with a
/// reboot, as all that ran is); other processes wait meanwhile. Errors: Timeout, those of the file.
[[nodiscard]] Result<std::uint32_t> machine_user(const std::string& directory,
                                                 const std::string& mesh_id,
                                                 const std::string& instance, Edges edges);

}  // namespace mesh::controller
