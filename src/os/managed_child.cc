#include "os/managed_child.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "os/errno_error.h"
#include "os/files.h"
#include "os/pidfd.h"
#include "os/poll.h"
#include "os/process_table.h"

namespace mesh::os {

namespace {

// What a killed process takes to be gone, with gigabytes to give back.
constexpr Milliseconds kKilledWithin{30'000};

}  // namespace

Result<ManagedChild> ManagedChild::spawn(SpawnOptions options, const std::string& log) {
  const Fd output(
      ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, kPrivateFile));
  if (!output.valid()) {
    return fail_errno(log, errno);
  }
  options.out = Output::to_fd(output.get());
  options.err = Output::to_fd(output.get());
  options.new_session = true;
  ManagedChild child;
  MESH_TRY(child.process_, Process::spawn(options));
  // A child that we have not waited for keeps its pid, so both calls mean it.
  child.pidfd_ = open_pidfd(child.process_->pid());
  if (auto mark = mark_of(child.process_->pid())) {
    child.mark_ = *std::move(mark);
  }
  return child;
}

Result<ManagedChild> ManagedChild::adopt(const ProcessMark& mark) {
  ManagedChild child;
  child.mark_ = mark;
  child.pidfd_ = open_pidfd(mark.pid);
  const auto now = mark_of(mark.pid);  // after the opening: the descriptor is this process
  if (!child.pidfd_.valid() || !now || *now != mark) {
    return fail(Code::NotFound, "the server has ended");
  }
  return child;
}

ManagedChild::~ManagedChild() {
  if (process_) {
    process_->detach();
  }
}

std::optional<std::string> ManagedChild::ended() {
  if (process_) {
    const auto status = process_->poll();
    return status ? std::optional(status->text()) : std::nullopt;
  }
  return wait_readable(pidfd(), Milliseconds::zero()) ? std::optional<std::string>("ended")
                                                      : std::nullopt;
}

bool ManagedChild::stop(Milliseconds grace, int signal) {
  static_cast<void>(signal_pidfd(pidfd(), signal));
  const bool by_itself = wait_readable(pidfd(), grace);
  if (!by_itself) {
    static_cast<void>(signal_pidfd(pidfd(), SIGKILL));
    static_cast<void>(wait_readable(pidfd(), kKilledWithin));
  }
  static_cast<void>(ended());
  return by_itself;
}

int end_managed(std::span<const std::string> words, Milliseconds grace, int signal) {
  int ended = 0;
  for (const auto& mark : processes_with_arguments(words)) {
    if (auto child = ManagedChild::adopt(mark)) {
      child->stop(grace, signal);
      ++ended;
    }
  }
  return ended;
}

}  // namespace mesh::os
