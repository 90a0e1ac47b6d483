#include "builder/logged_run.h"

#include <fmt/format.h>
#include <poll.h>
#include <csignal>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "base/text.h"
#include "os/line_pump.h"
#include "os/log_file.h"
#include "os/poll.h"

namespace mesh::builder {

namespace {

constexpr std::uint64_t kLargestLog = std::uint64_t{4} << 20U;
constexpr os::Milliseconds kGrace{5000};
constexpr std::size_t kShortestSecret = 4;

/// What the pump's thread and the caller share.
class Lines {
 public:
  Lines(os::LogFile log, const LoggedOptions& options) : log_(std::move(log)), options_(options) {}

  void take(std::string_view raw) {
    if (!options_.left_out.empty() && raw.starts_with(options_.left_out)) {
      return;
    }
    const auto line = redacted(raw, options_.secrets);
    (void)log_.write(line + "\n");  // a full disk must not end a build
    {
      const std::lock_guard lock(mutex_);
      last_.push_back(line);
      if (last_.size() > kLastLines) {
        last_.pop_front();
      }
    }
    if (options_.on_line) {
      options_.on_line(line);
    }
  }

  std::vector<std::string> last() {
    const std::lock_guard lock(mutex_);
    return {last_.begin(), last_.end()};
  }

 private:
  os::LogFile log_;
  const LoggedOptions& options_;
  std::mutex mutex_;  // guards what is below
  std::deque<std::string> last_;
};

enum class End { Exited, Timeout, Stopped };

End wait_for_end(os::Process& process, const LoggedOptions& options) {
  const os::Deadline deadline(options.timeout);
  for (;;) {
    std::array<pollfd, 2> entries{{{process.pidfd(), POLLIN, 0}, {options.stop_fd, POLLIN, 0}}};
    const int ready = ::poll(entries.data(), entries.size(), os::poll_milliseconds(deadline));
    if (ready > 0 && (entries[0].revents & POLLIN) != 0) {
      return End::Exited;
    }
    if (ready > 0 && entries[1].revents != 0) {
      return End::Stopped;
    }
    if (deadline.passed()) {
      return End::Timeout;
    }
  }
}

void replace_all(std::string& text, std::string_view what) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 3)) {
    text.replace(at, what.size(), "***");
  }
}

}  // namespace

std::string redacted(std::string_view line, const std::vector<std::string>& secrets) {
  std::string out(line);
  for (const auto& secret : secrets) {
    for (const auto part : split(secret, '\n')) {
      if (part.size() >= kShortestSecret) {
        replace_all(out, part);
      }
    }
  }
  return out;
}

Result<LoggedResult> run_logged(const LoggedOptions& options) {
  MESH_TRY(auto log, os::LogFile::open(options.log, kLargestLog));
  Lines lines(std::move(log), options);
  MESH_TRY(auto pump, os::LinePump::start());
  os::SpawnOptions spawn;
  spawn.argv = options.argv;
  spawn.environment = options.environment;
  spawn.directory = options.directory;
  spawn.out = os::Output::pipe();
  spawn.err = os::Output::pipe();
  spawn.parent_death_signal = SIGTERM;
  MESH_TRY(auto process, os::Process::spawn(spawn));
  pump->add(std::move(process.out()), [&](std::string_view line) { lines.take(line); });
  pump->add(std::move(process.err()), [&](std::string_view line) { lines.take(line); });
  const End end = wait_for_end(process, options);
  const auto status = process.stop(kGrace);
  pump.reset();  // the last lines are in
  if (end == End::Timeout) {
    return fail(Code::Timeout, fmt::format("{} did not end within {} s", options.argv.front(),
                                           options.timeout.count() / 1000));
  }
  if (end == End::Stopped) {
    return fail(Code::Interrupted, options.argv.front() + " was interrupted");
  }
  return LoggedResult{status, lines.last()};
}

}  // namespace mesh::builder
