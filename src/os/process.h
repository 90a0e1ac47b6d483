#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/clock.h"
#include "os/fd.h"

namespace mesh::os {

/// Where a child's output goes.
struct Output {
  enum class Kind { Inherit, Discard, ToFd, Pipe };
  Kind kind = Kind::Inherit;
  int fd = -1;  // ToFd: borrowed for the spawn

  static Output inherit() { return {}; }
  static Output discard() { return {Kind::Discard, -1}; }
  static Output to_fd(int fd) { return {Kind::ToFd, fd}; }
  /// Readable at `Process::out()` or `err()`; see line_pump.h for a thread that reads many.
  static Output pipe() { return {Kind::Pipe, -1}; }
};

struct Identity {
  uid_t uid = 0;
  gid_t gid = 0;
};

using Environment = std::map<std::string, std::string>;

struct SpawnOptions {
  std::vector<std::string> argv;           // argv[0] is looked up in PATH where it holds no `/`
  std::optional<Environment> environment;  // the whole of it; the caller's where not set
  std::string directory;                   // empty: the caller's
  std::optional<Identity> identity;        // runs as, without other groups; needs root
  Output out;
  Output err;
  int in = -1;               // a descriptor that becomes its stdin; -1: /dev/null
  bool new_session = false;  // away from the terminal (a daemon); its own group either way
  /// A signal that the kernel sends it when the THREAD that spawned it ends (Linux ties it to the
  /// thread): set it only from a thread that lives as long as the program. 0: none.
  int parent_death_signal = 0;
  /// Open `cgroup.procs` files that it writes itself into before it is anybody else's; borrowed.
  std::vector<int> cgroups;
  /// How many processes its user may have (RLIMIT_NPROC counts a user's, not a program's).
  std::optional<std::uint64_t> most_processes;
};

/// How a process ended.
struct ExitStatus {
  int code = 0;    // of exit(); meaningless where a signal ended it
  int signal = 0;  // 0: it exited by itself
  [[nodiscard]] bool ok() const { return signal == 0 && code == 0; }
  /// `exit code 3`, `signal 9 (Killed)`.
  [[nodiscard]] std::string text() const;
};

/// A child in a process group of its own, started without a shell, with no descriptor of ours but
/// 0, 1 and 2, and with every signal as a fresh program expects it. Its owner ends it: a Process
/// that is destroyed while it runs kills the group and waits.
class Process {
 public:
  /// Errors: NotFound (no such program or directory), PermissionDenied, InvalidArgument (empty
  /// argv, a NUL in it), Resource (no memory, too many processes).
  [[nodiscard]] static Result<Process> spawn(const SpawnOptions& options);
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Readable (poll) once the process has ended.
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }
  /// The reading ends of `Output::pipe()`, non-blocking; may be moved out.
  [[nodiscard]] Fd& out() { return out_; }
  [[nodiscard]] Fd& err() { return err_; }

  /// How it ended, or nothing while it runs. Never waits.
  [[nodiscard]] std::optional<ExitStatus> poll();
  /// Waits for its end. Errors: Timeout.
  [[nodiscard]] Result<ExitStatus> wait(Milliseconds timeout);
  /// Sends to it alone, or to its whole group. One that has ended is no error.
  void signal(int number);
  void signal_group(int number);
  /// SIGTERM to the group, SIGKILL to the group when the leader has not ended after `grace`, and
  /// SIGKILL to what it left behind in its group. Returns how it ended.
  ExitStatus stop(Milliseconds grace);
  /// Lets it run on without us; returns its pid. It is not waited for any more.
  pid_t detach();

 private:
  Process() = default;
  void kill_and_reap();
  bool reap(int options);
  pid_t pid_ = -1;
  Fd pidfd_;
  Fd out_;
  Fd err_;
  std::optional<ExitStatus> ended_;
};

struct RunOptions {
  SpawnOptions spawn;                   // `out` and `err` are captured
  std::string input;                    // given to its stdin
  std::size_t most_output = 1U << 20U;  // bytes kept of each stream; the rest is read and dropped
  Milliseconds timeout{30000};
  int stop_fd = -1;  // readable: stop early (see interrupt.h)
};

struct RunResult {
  ExitStatus status;
  std::string out;
  std::string err;
  bool truncated = false;  // more was written than kept
};

/// Runs a program to its end and returns what it wrote; an exit code that is not 0 is no error.
/// Errors: as spawn; Timeout (it was stopped: SIGTERM, 2 s, SIGKILL); Interrupted (`stop_fd`).
[[nodiscard]] Result<RunResult> run(const RunOptions& options);

/// The caller's environment as a map.
[[nodiscard]] Environment current_environment();

}  // namespace mesh::os
