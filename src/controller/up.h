#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "controller/push.h"
#include "controller/run_state.h"
#include "controller/supervisor.h"
#include "controller/workspace.h"
#include "os/interrupt.h"

/// `mesh up` and `mesh down`.
namespace mesh::controller {

struct UpOptions {
  bool yes = false;  // as of a push
  os::Milliseconds push_timeout{0};
  OnUnitLine on_line;  // each line that a component says
  Say say;             // what Mesh itself does
};

/// The whole mesh on this machine: the controller, a push, and every `run` component, until
/// `interrupt`; a push by another process is taken up within a second, and so is a secret that was
/// set: what uses it is started again. Everything is ended in order on the way out; where
/// `interrupt` insists, the graces of the components are over. Errors: those of Controller::start
/// and push; Conflict (it is up already).
[[nodiscard]] Status run_up(inventory::State& state, const Location& location,
                            const model::Reading& reading, const UpOptions& options, Edges edges,
                            os::Interrupt& interrupt);

/// `mesh up` as a process of its own, away from the terminal.
struct DetachedUp {
  std::vector<std::string> argv;  // of the `mesh up` in the foreground, with --json
  std::string log;                // what it says on stderr
};

/// Starts it and returns when all that the latest push declares runs. One that is up already is
/// left and waited for, until push `number` is what it runs. Errors: the one that the process ended
/// with, and where its log is; Internal, where it ended without one; Timeout, naming what does not
/// run, and then it stays up.
[[nodiscard]] Result<RunState> up_detached(const inventory::StatePaths& paths,
                                           const std::optional<DetachedUp>& start,
                                           std::int64_t number, os::Milliseconds timeout,
                                           const os::Interrupt& interrupt);

/// Ends the `mesh up` or `mesh controller` of this state and waits for its end; false where none
/// runs. Errors: Timeout, PermissionDenied.
[[nodiscard]] Result<bool> down(const inventory::StatePaths& paths, os::Milliseconds timeout);

}  // namespace mesh::controller
