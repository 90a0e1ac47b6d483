#pragma once

#include <csignal>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "os/process.h"
#include "os/process_mark.h"

namespace mesh::os {

/// A server that outlives us: our child, or one that an earlier process of Mesh left running.
/// Unlike a Process it is left running when this object goes without `stop`.
class ManagedChild {
 public:
  /// Starts it with its output appended to `log`; `options` say the rest. It outlives us: no pipe
  /// that would break, no signal at our death. Errors: as Process::spawn, those of the log.
  [[nodiscard]] static Result<ManagedChild> spawn(SpawnOptions options, const std::string& log);
  /// `NotFound` where the process is gone.
  [[nodiscard]] static Result<ManagedChild> adopt(const ProcessMark& mark);
  ManagedChild(ManagedChild&&) noexcept = default;
  ManagedChild& operator=(ManagedChild&&) noexcept = default;
  ~ManagedChild();

  [[nodiscard]] const ProcessMark& mark() const { return mark_; }
  /// Readable once it has ended.
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }
  /// How it ended, or nothing while it runs; `ended` for one that is not our child.
  [[nodiscard]] std::optional<std::string> ended();
  /// Sends `signal`, and SIGKILL when that did not end it within `grace`; false where it had to be
  /// killed.
  bool stop(Milliseconds grace, int signal = SIGINT);

 private:
  ManagedChild() = default;
  ProcessMark mark_;
  Fd pidfd_;
  std::optional<Process> process_;  // where it is our child
};

/// Ends every process whose arguments contain `words`, one after the other: what one that died in
/// the middle left. How many that were.
int end_managed(std::span<const std::string> words, Milliseconds grace, int signal);

}  // namespace mesh::os
