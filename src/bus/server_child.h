#pragma once

// The process of a managed server. Included by this room's sources alone.

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bus/server_record.h"
#include "os/process.h"

namespace mesh::bus {

/// A running nats-server: our child, or one that an earlier process of Mesh left running. Unlike an
/// os::Process it is left running when this object goes without `stop`.
class ServerChild {
 public:
  /// Starts `program -c config`, its output appended to `log`. It outlives us: no pipe that would
  /// break, no signal at our death.
  [[nodiscard]] static Result<ServerChild> spawn(const std::filesystem::path& program,
                                                 const std::filesystem::path& config,
                                                 const std::filesystem::path& directory,
                                                 const std::filesystem::path& log);
  /// `NotFound` where the process is gone.
  [[nodiscard]] static Result<ServerChild> adopt(const os::ProcessMark& mark);
  ServerChild(ServerChild&&) noexcept = default;
  ServerChild& operator=(ServerChild&&) noexcept = default;
  ~ServerChild();

  [[nodiscard]] const os::ProcessMark& mark() const { return mark_; }
  /// Readable once it has ended.
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }
  /// How it ended, or nothing while it runs; `ended` for one that is not our child.
  [[nodiscard]] std::optional<std::string> ended();
  /// SIGINT, and SIGKILL when that did not end it within `grace`; false where it had to be killed.
  bool stop(std::chrono::milliseconds grace);

 private:
  ServerChild() = default;
  os::ProcessMark mark_;
  os::Fd pidfd_;
  std::optional<os::Process> process_;  // where it is our child
};

}  // namespace mesh::bus
