#include "bus/server_child.h"

#include <fcntl.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "os/errno_error.h"
#include "os/files.h"
#include "os/pidfd.h"
#include "os/poll.h"

namespace mesh::bus {

namespace {

// What a killed process takes to be gone, with gigabytes to give back.
constexpr os::Milliseconds kKilledWithin{30'000};

}  // namespace

Result<ServerChild> ServerChild::spawn(const std::filesystem::path& program,
                                       const std::filesystem::path& config,
                                       const std::filesystem::path& directory,
                                       const std::filesystem::path& log) {
  const os::Fd output(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
                             os::kPrivateFile));
  if (!output.valid()) {
    return os::fail_errno(log.string(), errno);
  }
  os::SpawnOptions options;
  options.argv = {program.string(), "-c", config.string()};
  options.directory = directory.string();
  options.out = os::Output::to_fd(output.get());
  options.err = os::Output::to_fd(output.get());
  options.new_session = true;
  ServerChild child;
  MESH_TRY(child.process_, os::Process::spawn(options));
  // A child that we have not waited for keeps its pid, so both calls mean it.
  child.pidfd_ = os::open_pidfd(child.process_->pid());
  if (auto mark = os::mark_of(child.process_->pid())) {
    child.mark_ = *std::move(mark);
  }
  return child;
}

Result<ServerChild> ServerChild::adopt(const os::ProcessMark& mark) {
  ServerChild child;
  child.mark_ = mark;
  child.pidfd_ = os::open_pidfd(mark.pid);
  const auto now = os::mark_of(mark.pid);  // after the opening: the descriptor is this process
  if (!child.pidfd_.valid() || !now || *now != mark) {
    return fail(Code::NotFound, "the server has ended");
  }
  return child;
}

ServerChild::~ServerChild() {
  if (process_) {
    process_->detach();
  }
}

std::optional<std::string> ServerChild::ended() {
  if (process_) {
    const auto status = process_->poll();
    return status ? std::optional(status->text()) : std::nullopt;
  }
  return os::wait_readable(pidfd(), os::Milliseconds::zero()) ? std::optional<std::string>("ended")
                                                              : std::nullopt;
}

bool ServerChild::stop(std::chrono::milliseconds grace) {
  static_cast<void>(os::signal_pidfd(pidfd(), SIGINT));
  const bool by_itself = os::wait_readable(pidfd(), grace);
  if (!by_itself) {
    static_cast<void>(os::signal_pidfd(pidfd(), SIGKILL));
    static_cast<void>(os::wait_readable(pidfd(), kKilledWithin));
  }
  static_cast<void>(ended());
  return by_itself;
}

}  // namespace mesh::bus
