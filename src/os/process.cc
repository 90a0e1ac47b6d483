#include "os/process.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "os/child.h"
#include "os/errno_error.h"
#include "os/pidfd.h"
#include "os/poll.h"

namespace mesh::os {

std::string ExitStatus::text() const {
  if (signal != 0) {
    return fmt::format("signal {} ({})", signal, ::sigdescr_np(signal));
  }
  return fmt::format("exit code {}", code);
}

Result<Process> Process::spawn(const SpawnOptions& options) {
  MESH_TRY(ChildStreams streams, open_streams(options));
  Process process;
  MESH_TRY(process.pid_, start_child(options, streams));
  process.pidfd_ = open_pidfd(process.pid_);
  process.out_ = std::move(streams.our_out);
  process.err_ = std::move(streams.our_err);
  if (!process.pidfd_.valid()) {
    return fail_errno("cannot watch " + options.argv[0], errno);  // the destructor ends it
  }
  return process;
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)),
      ended_(std::exchange(other.ended_, std::nullopt)) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    kill_and_reap();
    pid_ = std::exchange(other.pid_, -1);
    pidfd_ = std::move(other.pidfd_);
    out_ = std::move(other.out_);
    err_ = std::move(other.err_);
    ended_ = std::exchange(other.ended_, std::nullopt);
  }
  return *this;
}

Process::~Process() {
  kill_and_reap();
}

void Process::kill_and_reap() {
  if (pid_ > 0 && !ended_) {
    signal_group(SIGKILL);
    reap(/*options=*/0);
  }
}

// The group is ended before its leader is reaped: until then nobody else can be given its number.
bool Process::reap(int options) {
  siginfo_t info{};
  int result = 0;
  do {
    result = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | options);
  } while (result != 0 && errno == EINTR);
  if (result == 0 && info.si_pid == 0) {
    return false;
  }
  ::kill(-pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  const bool exited = info.si_code == CLD_EXITED;
  ended_ = ExitStatus{exited ? info.si_status : 0, exited ? 0 : info.si_status};
  return true;
}

std::optional<ExitStatus> Process::poll() {
  if (!ended_) {
    reap(WNOHANG);
  }
  return ended_;
}

Result<ExitStatus> Process::wait(Milliseconds timeout) {
  if (!ended_ && !wait_readable(pidfd_.get(), timeout)) {
    return fail(Code::Timeout,
                fmt::format("process {} did not end in {} ms", pid_, timeout.count()));
  }
  if (!ended_) {
    reap(/*options=*/0);
  }
  return *ended_;
}

void Process::signal(int number) {
  if (!ended_) {
    ::kill(pid_, number);  // not reaped yet, so the pid is still ours
  }
}

void Process::signal_group(int number) {
  if (!ended_) {
    ::kill(-pid_, number);
  }
}

ExitStatus Process::stop(Milliseconds grace) {
  signal_group(SIGTERM);
  if (auto ended = wait(grace)) {
    return *ended;
  }
  signal_group(SIGKILL);
  reap(/*options=*/0);
  return *ended_;
}

pid_t Process::detach() {
  return std::exchange(pid_, -1);
}

Environment current_environment() {
  Environment environment;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) {
      environment.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return environment;
}

}  // namespace mesh::os
