#include "os/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "os/errno_error.h"

namespace mesh::os {
namespace {

enum class Stage { Streams, Limits, Identity, Directory, Exec };

/// What the child writes to its parent where it cannot become the program.
struct Failure {
  Stage stage;
  int number;
};

/// All that the child needs, made before the fork: behind it no memory may be asked for, since
/// another thread may have held the allocator's lock.
struct Plan {
  std::string program;
  std::vector<char*> argv;
  std::vector<std::string> environment_texts;
  std::vector<char*> environment;
  const SpawnOptions* options;
  std::array<int, 3> streams;
  pid_t parent;
  int report;
};

[[noreturn]] void give_up(const Plan& plan, Stage stage) {
  const Failure failure{stage, errno};
  static_cast<void>(!::write(plan.report, &failure, sizeof failure));
  ::_exit(127);
}

// Each source is first moved above 2, so that no dup2 covers one that is still needed.
bool place_streams(std::array<int, 3> sources) {
  for (int& source : sources) {
    source = source < 0 ? -1 : ::fcntl(source, F_DUPFD_CLOEXEC, 3);
  }
  for (int target = 0; target < 3; ++target) {
    const int source = sources.at(static_cast<std::size_t>(target));
    if (source >= 0 && ::dup2(source, target) < 0) {
      return false;
    }
  }
  return ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == 0;
}

// While it still is whoever may do that.
bool take_limits(const SpawnOptions& options) {
  for (const int cgroup : options.cgroups) {
    if (::write(cgroup, "0", 1) != 1) {
      return false;
    }
  }
  if (!options.most_processes) {
    return true;
  }
  const rlimit limit{*options.most_processes, *options.most_processes};
  return ::setrlimit(RLIMIT_NPROC, &limit) == 0;
}

bool take_identity(const SpawnOptions& options) {
  if (!options.identity) {
    return true;
  }
  const auto [uid, gid] = *options.identity;
  return ::setgroups(0, nullptr) == 0 && ::setresgid(gid, gid, gid) == 0 &&
         ::setresuid(uid, uid, uid) == 0;
}

// After the change of identity, which would clear it. A parent that died before the call can be
// seen: we were given to another.
void follow_parent(const Plan& plan) {
  const int number = plan.options->parent_death_signal;
  if (number != 0) {
    ::prctl(PR_SET_PDEATHSIG, static_cast<unsigned long>(number), 0UL, 0UL, 0UL);
    if (::getppid() != plan.parent) {
      ::_exit(128 + number);
    }
  }
}

void reset_signals() {
  for (int number = 1; number < NSIG; ++number) {
    ::signal(number, SIG_DFL);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// In the child: only calls that are safe after a fork of a program with threads.
[[noreturn]] void become(Plan& plan) {
  plan.report = ::fcntl(plan.report, F_DUPFD_CLOEXEC, 3);
  if (plan.options->new_session) {
    ::setsid();
  } else {
    ::setpgid(0, 0);
  }
  if (!place_streams(plan.streams)) {
    give_up(plan, Stage::Streams);
  }
  if (!take_limits(*plan.options)) {
    give_up(plan, Stage::Limits);
  }
  if (!take_identity(*plan.options)) {
    give_up(plan, Stage::Identity);
  }
  follow_parent(plan);
  if (!plan.options->directory.empty() && ::chdir(plan.options->directory.c_str()) != 0) {
    give_up(plan, Stage::Directory);
  }
  reset_signals();
  ::execve(plan.program.c_str(), plan.argv.data(), plan.environment.data());
  give_up(plan, Stage::Exec);
}

Error describe(const SpawnOptions& options, const Failure& failure) {
  switch (failure.stage) {
    case Stage::Streams:
      return errno_error("cannot set up the streams of " + options.argv[0], failure.number);
    case Stage::Limits:
      return errno_error("cannot limit " + options.argv[0], failure.number);
    case Stage::Identity:
      return errno_error("cannot change the user for " + options.argv[0], failure.number);
    case Stage::Directory:
      return errno_error(options.directory, failure.number);
    case Stage::Exec:
      break;
  }
  return errno_error("cannot start " + options.argv[0], failure.number);
}

Status check_argv(const SpawnOptions& options) {
  if (options.argv.empty() || options.argv[0].empty()) {
    return fail(Code::InvalidArgument, "no program to start");
  }
  for (const std::string& word : options.argv) {
    if (word.find('\0') != std::string::npos) {
      return fail(Code::InvalidArgument, "a command line with a NUL byte in it");
    }
  }
  return {};
}

std::string path_of(const Environment& environment) {
  const auto found = environment.find("PATH");
  return found == environment.end() ? "/usr/local/bin:/usr/bin:/bin" : found->second;
}

Result<std::string> find_program(const std::string& name, const Environment& environment) {
  if (name.find('/') != std::string::npos) {
    return name;
  }
  const std::string path = path_of(environment);
  for (const std::string_view dir : split(path, ':')) {
    std::string candidate = std::string(dir.empty() ? "." : dir) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
  }
  return fail(Code::NotFound, "no program " + printable(name) + " in PATH", "install it");
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const std::string& text : texts) {
    out.push_back(const_cast<char*>(text.c_str()));  // NOLINT: execve's type is older than const
  }
  out.push_back(nullptr);
  return out;
}

Result<Plan> make_plan(const SpawnOptions& options, const ChildStreams& streams) {
  MESH_CHECK(check_argv(options));
  const Environment environment = options.environment.value_or(current_environment());
  MESH_TRY(std::string program, find_program(options.argv[0], environment));
  Plan plan{std::move(program),
            pointers(options.argv),
            {},
            {},
            &options,
            {streams.in.get(), streams.out.get(), streams.err.get()},
            ::getpid(),
            -1};
  for (const auto& [name, value] : environment) {
    plan.environment_texts.push_back(fmt::format("{}={}", name, value));
  }
  plan.environment = pointers(plan.environment_texts);
  return plan;
}

Result<Fd> dup_above(int fd) {
  Fd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!copy.valid()) {
    return fail_errno("cannot pass a descriptor on", errno);
  }
  return copy;
}

Result<Fd> child_end(const Output& output, Fd& ours) {
  if (output.kind == Output::Kind::Inherit) {
    return Fd();
  }
  if (output.kind == Output::Kind::ToFd) {
    return dup_above(output.fd);
  }
  if (output.kind == Output::Kind::Discard) {
    return Fd(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  }
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail_errno("cannot make a pipe", errno);
  }
  ours = Fd(ends[0]);
  Fd theirs(ends[1]);
  ::fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  return theirs;
}

/// All signals are held back around the fork, so that no handler of ours runs in the child.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

// The pipe closes by itself when the program begins; until then a failure may come through it.
Status await_exec(int fd, pid_t pid, const SpawnOptions& options) {
  Failure failure{};
  ssize_t got = 0;
  do {
    got = ::read(fd, &failure, sizeof failure);
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof failure)) {
    return {};
  }
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return std::unexpected(describe(options, failure));
}

}  // namespace

Result<ChildStreams> open_streams(const SpawnOptions& options) {
  ChildStreams streams;
  if (options.in >= 0) {
    MESH_TRY(streams.in, dup_above(options.in));
  } else {
    streams.in = Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
  MESH_TRY(streams.out, child_end(options.out, streams.our_out));
  MESH_TRY(streams.err, child_end(options.err, streams.our_err));
  return streams;
}

Result<pid_t> start_child(const SpawnOptions& options, const ChildStreams& streams) {
  MESH_TRY(Plan plan, make_plan(options, streams));
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail_errno("cannot make a pipe", errno);
  }
  const Fd reading(ends[0]);
  Fd writing(ends[1]);
  plan.report = writing.get();
  pid_t pid = -1;
  {
    const SignalsBlocked blocked;
    pid = ::fork();
    if (pid == 0) {
      become(plan);
    }
  }
  if (pid < 0) {
    return fail_errno("cannot start " + options.argv[0], errno);
  }
  writing.reset();
  MESH_CHECK(await_exec(reading.get(), pid, options));
  return pid;
}

}  // namespace mesh::os
