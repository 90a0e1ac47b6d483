#include "host/keeper.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <thread>

#include <nlohmann/json.hpp>

#include "host/kept_output.h"
#include "host/unit_files.h"
#include "os/errno_error.h"
#include "os/files.h"
#include "os/lock.h"
#include "os/process_table.h"
#include "os/signal_queue.h"

namespace mesh::host {

namespace {

constexpr os::Milliseconds kLockWithin{5'000};
constexpr os::Milliseconds kLockRetry{10};
constexpr int kNotFound = 127;
constexpr int kNotStarted = 126;

std::int64_t wall_now() {
  return os::SystemClock().now().time_since_epoch().count();
}

/// Who settles or removes the unit holds the lock for a moment; another keeper holds it for long.
Result<os::Lock> take_unit(const UnitFiles& files) {
  const os::Deadline deadline(kLockWithin);
  while (true) {
    auto lock = os::Lock::take(files.lock(), "keep", os::rfc3339(os::SystemClock().now()));
    if (lock || lock.error().code != Code::Conflict || running_keeper(files) || deadline.passed()) {
      return lock;
    }
    std::this_thread::sleep_for(kLockRetry);
  }
}

/// What is left of the command's descendants: as their subreaper this process is given each whose
/// parent ended, so nothing is left when there is no child any more.
void end_descendants() {
  while (true) {
    const pid_t reaped = ::waitpid(-1, nullptr, WNOHANG);
    if (reaped < 0 && errno == ECHILD) {
      return;
    }
    if (reaped > 0) {
      continue;
    }
    for (const pid_t child : os::children_of(::getpid())) {
      ::kill(child, SIGKILL);
    }
    ::waitpid(-1, nullptr, 0);
  }
}

/// The descendants that ended while the command runs on. Its own end is left to who waits for it.
void reap_descendants(pid_t command) {
  siginfo_t info{};
  while (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid > 0 &&
         info.si_pid != command) {
    ::waitpid(info.si_pid, nullptr, 0);
    info = {};
  }
}

class Keeper {
 public:
  explicit Keeper(os::Lock lock) : lock_(std::move(lock)) {}

  /// Starts the command. Errors: as Process::spawn, those of the files.
  Status begin();
  /// Until it has ended, with all that it started.
  void run();

 private:
  Status spawn(const KeptSpec& spec);
  void write_end(int code);
  void take_signals();
  int timeout() const;

  UnitFiles files_{"."};
  os::Lock lock_;  // of the unit, as long as this process lives
  KeptRun run_;
  os::Cgroup cgroup_;
  std::optional<os::SignalQueue> signals_;
  std::optional<KeptOutput> output_;
  std::optional<os::Process> command_;
  os::Milliseconds grace_{0};
  std::optional<os::Deadline> kill_at_;
  bool killed_ = false;
};

Status Keeper::begin() {
  MESH_TRY(signals_, os::SignalQueue::open({SIGTERM, SIGINT, SIGHUP, SIGCHLD}));
  ::prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
  MESH_TRY(const auto spec, files_.read_spec());
  MESH_TRY(run_.keeper, os::mark_of(::getpid()));
  run_.started = wall_now();
  run_.since_boot = since_boot();
  grace_ = spec.grace;
  cgroup_ = files_.read_cgroup();
  MESH_CHECK(files_.reserve_end());
  // From here on whoever finds what is left knows whose it is.
  MESH_CHECK(files_.write_run(run_));
  if (auto spawned = spawn(spec); !spawned) {
    write_end(spawned.error().code == Code::NotFound ? kNotFound : kNotStarted);
    return spawned;
  }
  run_.pid = command_->pid();
  // Without it the pid is not shown; a full disk is no reason to end what runs.
  (void)files_.write_run(run_).has_value();
  return {};
}

Status Keeper::spawn(const KeptSpec& spec) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return os::fail_errno("cannot make a pipe", errno);
  }
  os::Fd reading(ends[0]);
  const os::Fd writing(ends[1]);
  MESH_TRY(output_, KeptOutput::open(std::move(reading), files_.log(), spec.log_size));
  MESH_TRY(const auto cgroups, cgroup_.join());
  os::SpawnOptions options;
  options.argv = spec.run;
  options.environment = spec.environment;
  options.directory = spec.directory;
  options.identity = spec.identity;
  options.out = os::Output::to_fd(writing.get());
  options.err = os::Output::to_fd(writing.get());
  options.parent_death_signal = SIGKILL;
  for (const auto& cgroup : cgroups) {
    options.cgroups.push_back(cgroup.get());
  }
  if (spec.identity && spec.limits.pids) {
    options.most_processes = static_cast<std::uint64_t>(*spec.limits.pids);
  }
  MESH_TRY(command_, os::Process::spawn(options));
  return {};
}

int Keeper::timeout() const {
  if (!kill_at_ || killed_) {
    return -1;
  }
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  return static_cast<int>(std::min<std::int64_t>(kill_at_->left().count() + 1, kMost));
}

void Keeper::take_signals() {
  while (const auto signal = signals_->next()) {
    if (signal->number == SIGTERM || signal->number == SIGINT) {
      const auto grace = signal->value ? os::Milliseconds(std::max(*signal->value, 0)) : grace_;
      if (!kill_at_) {
        command_->signal_group(SIGTERM);
      }
      if (!kill_at_ || grace < kill_at_->left()) {
        kill_at_ = os::Deadline(grace);
      }
    }
  }
  reap_descendants(command_->pid());
}

void Keeper::run() {
  while (!command_->poll()) {
    std::array<pollfd, 3> entries{{{command_->pidfd(), POLLIN, 0},
                                   {signals_->descriptor(), POLLIN, 0},
                                   {output_->descriptor(), POLLIN, 0}}};
    ::poll(entries.data(), entries.size(), timeout());
    if (entries[1].revents != 0) {
      take_signals();
    }
    if (entries[2].revents != 0) {
      output_->take();
    }
    if (kill_at_ && !killed_ && kill_at_->passed()) {
      killed_ = true;
      command_->signal_group(SIGKILL);
    }
  }
  end_descendants();
  cgroup_.kill();
  output_->finish();
  const auto status = *command_->poll();
  write_end(status.signal != 0 ? 128 + status.signal : status.code);
}

void Keeper::write_end(int code) {
  (void)files_.write_end({run_.keeper, code, killed_, cgroup_.out_of_memory() > 0, wall_now()})
      .has_value();
}

void answer(const std::string& line) {
  (void)!::write(STDOUT_FILENO, line.data(), line.size());
}

int refuse(const Error& error) {
  const nlohmann::json document = {
      {"code", code_name(error.code)}, {"message", error.message}, {"hint", error.hint}};
  answer(document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  return 1;
}

void leave_streams() {
  const os::Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::dup2(nothing.get(), fd);
  }
}

}  // namespace

int keep(const std::string& directory) {
  // From here on all paths are relative: what replaces the directory is not ours.
  if (::chdir(directory.c_str()) != 0) {
    return refuse(os::errno_error(directory, errno));
  }
  ::umask(0077);
  ::signal(SIGPIPE, SIG_IGN);
  auto lock = take_unit(UnitFiles("."));
  if (!lock) {
    return refuse(lock.error());
  }
  Keeper keeper(std::move(*lock));
  if (const auto begun = keeper.begin(); !begun) {
    return refuse(begun.error());
  }
  answer("ok\n");
  leave_streams();
  ::malloc_trim(0);
  keeper.run();
  return 0;
}

}  // namespace mesh::host
