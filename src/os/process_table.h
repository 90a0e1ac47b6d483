#pragma once

#include <span>
#include <string>
#include <vector>

#include "os/process_mark.h"

/// What else runs on this machine, as far as this user may see it (/proc).
namespace mesh::os {

/// The processes whose arguments contain `words`, one after the other.
[[nodiscard]] std::vector<ProcessMark> processes_with_arguments(std::span<const std::string> words);

/// Kills (SIGKILL) what is left of the process group that `leader` leads or led; how many that
/// were. None where the group is another's by now: its leader is not `leader`, or it is older.
int kill_group_of(const ProcessMark& leader);

}  // namespace mesh::os
