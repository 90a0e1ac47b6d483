#pragma once

#include <sys/types.h>

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

/// The same for the session that `leader` leads or led, whatever groups it fell into, until nothing
/// of it is left (or can be ended); `leader` too, where it still runs.
int kill_session_of(const ProcessMark& leader);

/// The processes whose parent is `pid`, zombies included.
[[nodiscard]] std::vector<pid_t> children_of(pid_t pid);

}  // namespace mesh::os
