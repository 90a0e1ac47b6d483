#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/process.h"

namespace mesh::test {

/// podman's own service (`podman system service`) on a socket of its own, with its storage, state
/// and network in a temporary directory, and settings that work also on machines without
/// CAP_SYS_RESOURCE or with hybrid control groups: runc, and limits that do not rise above the
/// machine's. Ended by its pid with the object, and everything of it with it.
class PodmanService {
 public:
  /// Returns when it answers. Errors: NotFound (podman or runc is missing, and which package has
  /// it), Unavailable (its own words).
  [[nodiscard]] static Result<PodmanService> start();
  PodmanService(PodmanService&&) noexcept;
  PodmanService& operator=(PodmanService&&) noexcept;
  ~PodmanService();

  [[nodiscard]] std::string socket() const;
  [[nodiscard]] const std::filesystem::path& directory() const;
  [[nodiscard]] int pid() const;
  [[nodiscard]] std::string log() const;
  /// `overlay`, or `vfs` where that cannot be.
  [[nodiscard]] std::string storage_driver() const;

  /// What a process needs in its environment to use the same podman by command.
  [[nodiscard]] os::Environment environment() const;
  /// `podman` and the options that lead to this one's storage.
  [[nodiscard]] std::vector<std::string> command() const;
  /// Runs `podman ARGS…` to its end: what it wrote. Errors: Unavailable with its words where it
  /// failed.
  [[nodiscard]] Result<std::string> run(const std::vector<std::string>& arguments) const;

  /// An image with busybox and `/bin/act` (fake_engine.h tells what it does), under this name.
  [[nodiscard]] Status make_test_image(const std::string& name) const;

  /// Ends the service alone, by SIGKILL; containers run on.
  void kill();
  /// Starts it again, where it was ended.
  [[nodiscard]] Status restart();
  /// As if the machine were switched off and on: no process, no mount and no volatile state is
  /// left. The service is started again.
  [[nodiscard]] Status reboot();

  /// What there is of containers beside the storage: processes (`pid: arguments`) and mounts below
  /// the directory, but for the one that podman makes of its storage.
  [[nodiscard]] std::vector<std::string> remains() const;

 private:
  struct State;
  explicit PodmanService(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace mesh::test
