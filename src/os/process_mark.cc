#include "os/process_mark.h"

#include <fmt/format.h>
#include <signal.h>

#include <cerrno>
#include <charconv>

#include "base/text.h"
#include "os/errno_error.h"
#include "os/files.h"
#include "os/pidfd.h"
#include "os/poll.h"

namespace mesh::os {
namespace {

constexpr std::size_t kMostProc = 8192;
// Of the fields behind the name, counted from the state (field 3): proc(5), /proc/PID/stat.
constexpr std::size_t kStartedField = 19;

std::unexpected<Error> gone(pid_t pid) {
  return fail(Code::NotFound, fmt::format("process {} has ended", pid));
}

// The name may hold spaces and brackets, so fields are counted from its last bracket.
Result<std::uint64_t> started(pid_t pid) {
  const auto stat = read_file(fmt::format("/proc/{}/stat", pid), kMostProc);
  const std::size_t name_end = stat ? stat->rfind(") ") : std::string::npos;
  if (name_end == std::string::npos) {
    return gone(pid);
  }
  const auto fields = split(std::string_view(*stat).substr(name_end + 2), ' ');
  std::uint64_t ticks = 0;
  if (fields.size() <= kStartedField || fields[0] == "Z" || fields[0] == "X") {
    return gone(pid);
  }
  const std::string_view text = fields[kStartedField];
  std::from_chars(text.data(), text.data() + text.size(), ticks);
  return ticks;
}

Result<std::string> read_boot_id() {
  MESH_TRY(std::string text, read_file("/proc/sys/kernel/random/boot_id", kMostProc));
  while (!text.empty() && text.back() == '\n') {
    text.pop_back();
  }
  return text;
}

/// It stays what it is for as long as this process lives.
Result<std::string> boot_id() {
  static const Result<std::string> known = read_boot_id();
  return known ? known : read_boot_id();
}

}  // namespace

Result<ProcessMark> mark_of(pid_t pid) {
  ProcessMark mark;
  mark.pid = pid;
  MESH_TRY(mark.started, started(pid));
  MESH_TRY(mark.boot, boot_id());
  return mark;
}

Result<ProcessHandle> ProcessHandle::open(const ProcessMark& mark) {
  if (mark.pid <= 0) {
    return gone(mark.pid);
  }
  Fd pidfd = open_pidfd(mark.pid);
  if (!pidfd.valid()) {
    return errno == ESRCH ? gone(mark.pid) : fail_errno(fmt::format("process {}", mark.pid), errno);
  }
  // Compared after the descriptor is open: from here on the pid cannot become another's unseen.
  const auto now = mark_of(mark.pid);
  if (!now || *now != mark) {
    return gone(mark.pid);
  }
  return ProcessHandle(std::move(pidfd));
}

Status ProcessHandle::signal(int number) {
  if (!signal_pidfd(pidfd_.get(), number)) {
    return fail_errno("cannot signal the process", errno);
  }
  return {};
}

Status ProcessHandle::wait_gone(Milliseconds timeout) {
  if (!wait_readable(pidfd_.get(), timeout)) {
    return fail(Code::Timeout, fmt::format("the process did not end in {} ms", timeout.count()));
  }
  return {};
}

}  // namespace mesh::os
