#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "converge/units.h"
#include "os/cgroup.h"
#include "os/clock.h"
#include "os/process.h"
#include "os/process_mark.h"

/// What is kept of a command on disk: the one place that knows the files of a unit's directory.
/// Commands writes spec.json and cgroups, the keeper all others.
namespace mesh::host {

/// spec.json: all that the keeper needs. It is written last, so a directory without it was left
/// half made.
struct KeptSpec {
  std::string mesh;
  std::string node;
  converge::UnitName name;
  std::vector<std::string> run;
  os::Environment environment;
  std::string directory;
  std::optional<os::Identity> identity;
  std::int64_t log_size = 0;
  os::Milliseconds grace{0};
  os::ResourceLimits limits;
  std::string folder;  // that was copied for it, or empty
  std::string files;
};

/// run.json: the run that is or was last. Written before its command can start.
struct KeptRun {
  os::ProcessMark keeper;
  std::int64_t pid = 0;         // of the command; 0 until it began
  std::int64_t started = 0;     // milliseconds since 1970
  std::int64_t since_boot = 0;  // the same moment, in milliseconds of CLOCK_BOOTTIME
};

/// ended.json: how the run of that keeper ended.
struct KeptEnd {
  os::ProcessMark keeper;
  int code = 0;
  bool killed = false;  // its grace was over
  bool out_of_memory = false;
  std::int64_t ended = 0;  // milliseconds since 1970
};

class UnitFiles {
 public:
  explicit UnitFiles(std::string directory) : directory_(std::move(directory)) {}
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] std::string lock() const { return directory_ + "/lock"; }
  [[nodiscard]] std::string spec() const { return directory_ + "/spec.json"; }
  [[nodiscard]] std::string log() const { return directory_ + "/log"; }

  /// Errors of all that read: NotFound, Corrupt, those of the file. Of all that write: those of the
  /// file.
  [[nodiscard]] Result<KeptSpec> read_spec() const;
  [[nodiscard]] Status write_spec(const KeptSpec& spec) const;
  [[nodiscard]] Result<KeptRun> read_run() const;
  [[nodiscard]] Status write_run(const KeptRun& run) const;
  [[nodiscard]] Result<KeptEnd> read_end() const;
  /// Takes the room on the disk that `write_end` needs, so that a full disk cannot swallow the end.
  [[nodiscard]] Status reserve_end() const;
  [[nodiscard]] Status write_end(const KeptEnd& end) const;
  /// None where there is no such file.
  [[nodiscard]] os::Cgroup read_cgroup() const;
  [[nodiscard]] Status write_cgroup(const os::Cgroup& cgroup) const;

 private:
  std::string directory_;
};

/// The name of a unit's directory, `module.component.generation`, and back; nothing where it is
/// none.
[[nodiscard]] std::string unit_text(const converge::UnitName& name);
[[nodiscard]] std::optional<converge::UnitName> unit_named(std::string_view text);

/// The keeper that holds the unit's lock: the process by its pid, or nothing where none does.
[[nodiscard]] std::optional<pid_t> running_keeper(const UnitFiles& files);

/// Milliseconds of CLOCK_BOOTTIME: since the machine started, its sleep included.
[[nodiscard]] std::int64_t since_boot();

}  // namespace mesh::host
