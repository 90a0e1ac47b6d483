#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "os/process.h"

namespace mesh::os {

/// The ends of a child's standard streams, on our side and on the child's.
struct ChildStreams {
  Fd in;   // /dev/null or the given descriptor
  Fd out;  // the child's end
  Fd err;
  Fd our_out;  // the reading end of a pipe, where one was asked for
  Fd our_err;
};

/// Errors: Resource (no descriptors left).
[[nodiscard]] Result<ChildStreams> open_streams(const SpawnOptions& options);

/// fork and exec: returns the child's pid once the program has begun. Errors: as Process::spawn.
[[nodiscard]] Result<pid_t> start_child(const SpawnOptions& options, const ChildStreams& streams);

}  // namespace mesh::os
