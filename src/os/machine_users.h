#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "os/clock.h"

/// The users that instances run as on this machine, whichever mesh they are of: no two share one.
namespace mesh::os {

/// uid -> `<mesh id> <instance>`.
using UserTable = std::map<std::uint32_t, std::string>;

/// The uid of `who`: the one that it has in `taken`, or the least that nobody has.
[[nodiscard]] std::uint32_t user_for(const UserTable& taken, const std::string& who);

/// The uid of `instance` of the mesh, kept in `directory`/users.json (root's alone) for good: what
/// a uid owned may still lie somewhere; other processes wait meanwhile. Errors: Timeout, Corrupt
/// (the table cannot be read), those of the file.
[[nodiscard]] Result<std::uint32_t> machine_user(const std::string& directory,
                                                 const std::string& mesh_id,
                                                 const std::string& instance, const Clock& clock);

}  // namespace mesh::os
