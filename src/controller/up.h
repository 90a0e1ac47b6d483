#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "controller/push.h"
#include "controller/run_state.h"
#include "controller/workspace.h"
#include "os/interrupt.h"

/// `mesh up` and `mesh down`.
namespace mesh::controller {

struct UpOptions {
  bool yes = false;  // as of a push
  os::Milliseconds push_timeout{0};
  std::string engine;  // the socket of the container engine; empty: the usual one
  /// As of a push.
  std::function<Result<std::vector<inventory::PushImage>>(Steps&)> bring_images;
  AskForImages ask_for_images{};  // as PushOptions has it
  /// Each line that a component of this machine prints, from another thread; empty: none is read.
  std::function<void(const std::string& unit, std::string_view line)> on_line;
  Say say;  // what Mesh itself does
};

/// The whole mesh on this machine: the controller, a push, and a mesh-host for each node that no
/// other machine has joined, until `interrupt`; a push by another process is taken up. Everything
/// is ended in order on the way out; where `interrupt` insists, the graces of the components are
/// over. Errors: those of Controller::start and push; Conflict (it is up already); NotFound (no
/// mesh-host).
[[nodiscard]] Status run_up(inventory::State& state, const Location& location,
                            const model::Reading& reading, const UpOptions& options, Edges edges,
                            os::Interrupt& interrupt);

/// `mesh up` as a process of its own, away from the terminal.
struct DetachedUp {
  std::vector<std::string> argv;  // of the `mesh up` in the foreground, with --json
  std::string log;                // what it says on stderr
};

/// Starts it and returns when every node of this machine is converged. One that is up already is
/// left and waited for, until push `number` is what it runs. Errors: the one that the process ended
/// with, and where its log is; Internal, where it ended without one; Unavailable (nodes have
/// failed) and Timeout, naming what is not as declared, and then it stays up.
[[nodiscard]] Result<RunState> up_detached(const inventory::StatePaths& paths,
                                           const std::optional<DetachedUp>& start,
                                           std::int64_t number, os::Milliseconds timeout,
                                           const os::Interrupt& interrupt);

/// Ends the `mesh up` or `mesh controller` of this state, waits for its end, and stops what runs of
/// this machine's nodes, with their volumes where `volumes`; false where nothing ran. Errors:
/// Timeout, PermissionDenied, Unavailable (something could not be stopped).
[[nodiscard]] Result<bool> down(const inventory::StatePaths& paths, bool volumes,
                                os::Milliseconds timeout);

}  // namespace mesh::controller
