#include "os/managed_process.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "os/dial.h"
#include "os/errno_error.h"
#include "os/files.h"
#include "os/lock.h"
#include "os/managed_child.h"
#include "os/managed_log.h"
#include "os/poll.h"

namespace mesh::os {

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr Milliseconds kHelloWithin{1000};
constexpr Milliseconds kBetweenHellos{10};
constexpr Milliseconds kStopFailed{5000};  // for one that did not become ready
constexpr Milliseconds kBetweenTrims{60'000};
constexpr Milliseconds kBetweenLocks{100};
constexpr Milliseconds kStayedUp{60'000};  // after this an end is a new one, and the pause short

}  // namespace

class ManagedProcess::State {
 public:
  explicit State(ManagedOptions options)
      : options_(std::move(options)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { static_cast<void>(stop()); }

  Status begin() {
    if (!wake_.valid()) {
      return fail_errno("eventfd", errno);
    }
    MESH_CHECK(start_first());
    supervisor_ = std::thread([this] { supervise(); });
    return {};
  }

  Status stop() {
    stopping_ = true;
    const std::uint64_t one = 1;
    static_cast<void>(::write(wake_.get(), &one, sizeof(one)));
    if (supervisor_.joinable()) {
      supervisor_.join();
    }
    if (!child_) {
      return {};
    }
    say(fmt::format("stopping {} (pid {})", options_.name, child_->mark().pid));
    if (!child_->stop(options_.stop_within, options_.stop_signal)) {
      say(fmt::format("{} did not stop within {} s and was killed", options_.name,
                      options_.stop_within.count() / 1000));
    }
    child_.reset();
    return remove_tree(options_.record);
  }

  ServerRecord record() const {
    const std::lock_guard lock(mutex_);
    return record_;
  }
  int restarts() const { return restarts_; }

 private:
  void say(const std::string& line) const {
    if (options_.say) {
      options_.say(line);
    }
  }

  Status start_first() {
    MESH_TRY(const auto lock, hold_start_lock(options_.ready_within));
    if (!take_over()) {
      if (!options_.marks.empty() &&
          end_managed(options_.marks, options_.stop_within, options_.stop_signal) > 0) {
        say(fmt::format("ended a {} of an earlier run", options_.name));
      }
      MESH_CHECK(check_port());
      MESH_CHECK(launch());
    }
    return {};
  }

  /// The lock that others keep it from being started with; nothing where there is none to take.
  Result<std::optional<Lock>> hold_start_lock(std::optional<Milliseconds> patience) {
    const Deadline deadline(patience.value_or(Milliseconds::zero()));
    bool said = false;
    while (!options_.start_lock.empty()) {
      auto lock = Lock::take(options_.start_lock, options_.name, rfc3339(SystemClock().now()));
      if (lock) {
        return std::optional(*std::move(lock));
      }
      if (lock.error().code != Code::Conflict || (patience && deadline.passed())) {
        return std::unexpected(std::move(lock).error());
      }
      if (!std::exchange(said, true)) {
        say(fmt::format("{} is not started yet: {}", options_.name, lock.error().message));
      }
      if (wait_readable(wake_.get(), kBetweenLocks) || stopping_) {
        return fail(Code::Interrupted, options_.name + " was stopped before it was started");
      }
    }
    return std::optional<Lock>();
  }

  /// Takes over the server that the record describes: true where it runs, answers and is the one
  /// that would be started. Another one is stopped.
  bool take_over() {
    auto running = running_server(options_.record);
    if (!running || !*running) {
      say(running ? "starting " + options_.name : running.error().message);
      return false;
    }
    auto child = ManagedChild::adopt((*running)->process);
    if (!child) {
      return false;
    }
    const auto hello = options_.hello(kHelloWithin);
    const bool same =
        hello && hello->id == (*running)->id && (*running)->program == options_.program &&
        (*running)->version == options_.version && (*running)->config == options_.config;
    if (!same) {
      say(fmt::format("stopping the {} of an earlier run (pid {})", options_.name,
                      child->mark().pid));
      child->stop(options_.stop_within, options_.stop_signal);
      return false;
    }
    say(fmt::format("{} {} still runs (pid {})", options_.name, (*running)->version,
                    child->mark().pid));
    child_ = *std::move(child);
    const std::lock_guard lock(mutex_);
    record_ = **std::move(running);
    return true;
  }

  Status check_port() const {
    const auto hello = options_.hello(kHelloWithin);
    if (!hello && hello.error().code == Code::Unavailable) {
      return {};
    }
    const auto other = "a " + options_.name +
                       (hello && !hello->version.empty() ? " " + hello->version : std::string());
    return fail(Code::Conflict,
                fmt::format("{}:{} is already used by {}", options_.host, options_.port,
                            hello ? other : std::string("another program")),
                options_.taken_hint);
  }

  /// Starts it, waits until it is ready, and writes the record.
  Status launch() {
    log_offset_ = size_of(options_.log);
    MESH_TRY(ManagedChild child, ManagedChild::spawn(options_.spawn, options_.log));
    auto hello = wait_ready(child);
    if (!hello) {
      child.stop(kStopFailed, options_.stop_signal);
      return std::unexpected(std::move(hello).error());
    }
    const ServerRecord record{
        child.mark(),     dialled(options_.host),
        options_.port,    hello->version.empty() ? options_.version : hello->version,
        options_.program, options_.config,
        hello->id};
    if (auto written = write_record(options_.record, record); !written) {
      child.stop(kStopFailed, options_.stop_signal);
      return written;
    }
    say(fmt::format("{} {} runs on {}:{} (pid {})", options_.name, record.version, record.host,
                    record.port, record.process.pid));
    child_ = std::move(child);
    const std::lock_guard lock(mutex_);
    record_ = record;
    return {};
  }

  /// `what`, and its last words.
  std::string and_words(const std::string& what) const {
    return with_words(what, options_.last_words(tail_of(options_.log, log_offset_)));
  }

  Result<ServerHello> wait_ready(ManagedChild& child) {
    const Deadline deadline(options_.ready_within);
    while (!deadline.passed() && !stopping_) {
      if (const auto how = child.ended()) {
        return fail(Code::Unavailable, and_words(fmt::format("{} ended ({})", options_.name, *how)),
                    fmt::format("its log is {}", options_.log));
      }
      auto hello = options_.hello(kHelloWithin);
      if (hello && (options_.id.empty() || hello->id == options_.id)) {
        return hello;
      }
      static_cast<void>(wait_readable(child.pidfd(), kBetweenHellos));
    }
    if (stopping_) {
      return fail(Code::Interrupted, options_.name + " was stopped before it was ready");
    }
    return fail(
        Code::Timeout,
        and_words(fmt::format("{} does not answer on {}:{} within {} s", options_.name,
                              options_.host, options_.port, options_.ready_within.count() / 1000)),
        fmt::format("its log is {}", options_.log));
  }

  /// True where the server ended, false where it is to be stopped.
  bool wait_for_end() {
    for (;;) {
      std::array<pollfd, 2> wait{pollfd{child_->pidfd(), POLLIN, 0},
                                 pollfd{wake_.get(), POLLIN, 0}};
      const int ready = ::poll(wait.data(), wait.size(), static_cast<int>(kBetweenTrims.count()));
      if (stopping_) {
        return false;
      }
      if (ready > 0 && wait[0].revents != 0) {
        return true;
      }
      trim_log(options_.log, options_.log_limit);
    }
  }

  void supervise() {
    Milliseconds pause = options_.first_pause;
    auto started = SteadyClock::now();
    while (wait_for_end()) {
      say(and_words(fmt::format("{} ended ({})", options_.name, child_->ended().value_or("gone"))));
      child_.reset();
      if (SteadyClock::now() - started > kStayedUp) {
        pause = options_.first_pause;
      }
      if (!start_again(pause)) {
        return;
      }
      started = SteadyClock::now();
    }
  }

  /// Tries until it runs, each time after a longer pause; false where it is to be stopped.
  bool start_again(Milliseconds& pause) {
    for (;;) {
      if (wait_readable(wake_.get(), pause) || stopping_) {
        return false;
      }
      pause = std::min(pause * 2, options_.last_pause);
      if (const auto launched = launch_again()) {
        ++restarts_;
        return true;
      } else if (!stopping_) {
        say(launched.error().message);
      }
    }
  }

  Status launch_again() {
    MESH_TRY(const auto lock, hold_start_lock(std::nullopt));
    if (options_.prepare) {
      MESH_CHECK(options_.prepare());
    }
    MESH_CHECK(check_port());
    return launch();
  }

  const ManagedOptions options_;
  Fd wake_;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> restarts_ = 0;
  std::uint64_t log_offset_ = 0;       // where its output begins
  std::optional<ManagedChild> child_;  // the supervisor's while it runs
  std::thread supervisor_;
  mutable std::mutex mutex_;  // of the record
  ServerRecord record_;
};

ManagedProcess::ManagedProcess(std::unique_ptr<State> state) : state_(std::move(state)) {}
ManagedProcess::~ManagedProcess() = default;

Result<std::unique_ptr<ManagedProcess>> ManagedProcess::start(ManagedOptions options) {
  auto state = std::make_unique<State>(std::move(options));
  MESH_CHECK(state->begin());
  return std::unique_ptr<ManagedProcess>(new ManagedProcess(std::move(state)));
}

Status ManagedProcess::stop() {
  return state_->stop();
}
ServerRecord ManagedProcess::record() const {
  return state_->record();
}
int ManagedProcess::restarts() const {
  return state_->restarts();
}

}  // namespace mesh::os
