#include "bus/server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "bus/server_child.h"
#include "bus/server_hello.h"
#include "bus/server_log.h"
#include "os/errno_error.h"
#include "os/files.h"
#include "os/poll.h"
#include "os/process_table.h"

namespace mesh::bus {

namespace {

using Clock = std::chrono::steady_clock;

constexpr os::Milliseconds kHelloWithin{1000};
constexpr os::Milliseconds kBetweenHellos{10};
constexpr os::Milliseconds kStopFailed{5000};  // for one that did not become ready
constexpr os::Milliseconds kBetweenTrims{60'000};
constexpr os::Milliseconds kStayedUp{
    60'000};  // after this an end is a new one, and the pause short

}  // namespace

class ManagedServer::State {
 public:
  explicit State(ManagedServerOptions options)
      : options_(std::move(options)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { static_cast<void>(stop()); }

  Status begin() {
    if (!wake_.valid()) {
      return os::fail_errno("eventfd", errno);
    }
    if (!take_over()) {
      if (const int ended = end_servers_of(options_.config, options_.stop_within); ended > 0) {
        say("ended a nats-server of an earlier run");
      }
      MESH_CHECK(check_port());
      MESH_CHECK(launch());
    }
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
    say(fmt::format("stopping nats-server (pid {})", child_->mark().pid));
    if (!child_->stop(options_.stop_within)) {
      say(fmt::format("nats-server did not stop within {} s and was killed",
                      options_.stop_within.count() / 1000));
    }
    child_.reset();
    return os::remove_tree(options_.record.string());
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

  /// Takes over the server that the record describes: true where it runs, answers and is the one
  /// that would be started. Another one is stopped.
  bool take_over() {
    auto running = running_server(options_.record);
    if (!running || !*running) {
      say(running ? "starting nats-server" : running.error().message);
      return false;
    }
    auto child = ServerChild::adopt((*running)->process);
    if (!child) {
      return false;
    }
    const auto hello = read_hello(options_.host, options_.port, kHelloWithin);
    const bool same = hello && hello->id == (*running)->id &&
                      (*running)->program == options_.program.path.string() &&
                      (*running)->version == options_.program.version.text() &&
                      (*running)->config == options_.config.string();
    if (!same) {
      say(fmt::format("stopping the nats-server of an earlier run (pid {})", child->mark().pid));
      child->stop(options_.stop_within);
      return false;
    }
    say(fmt::format("nats-server {} still runs (pid {})", hello->version, child->mark().pid));
    child_ = *std::move(child);
    const std::lock_guard lock(mutex_);
    record_ = **std::move(running);
    return true;
  }

  Status check_port() const {
    const auto hello = read_hello(options_.host, options_.port, kHelloWithin);
    if (!hello && hello.error().code == Code::Unavailable) {
      return {};
    }
    return fail(Code::Conflict,
                fmt::format("{}:{} is already used by {}", options_.host, options_.port,
                            hello ? fmt::format("a nats-server {}", hello->version)
                                  : std::string("another program")),
                "stop it, or choose another listen in [bus] of mesh.toml");
  }

  /// Starts it, waits until it is ready, and writes the record.
  Status launch() {
    const std::uint64_t offset = size_of(options_.log);
    MESH_TRY(ServerChild child, ServerChild::spawn(options_.program.path, options_.config,
                                                   options_.directory, options_.log));
    auto hello = wait_ready(child, offset);
    if (!hello) {
      child.stop(kStopFailed);
      return std::unexpected(std::move(hello).error());
    }
    const ServerRecord record{
        child.mark(),   dialled(options_.host),         options_.port,
        hello->version, options_.program.path.string(), options_.config.string(),
        hello->id};
    if (auto written = write_record(options_.record, record); !written) {
      child.stop(kStopFailed);
      return written;
    }
    say(fmt::format("nats-server {} runs on {}:{} (pid {})", record.version, record.host,
                    record.port, record.process.pid));
    child_ = std::move(child);
    const std::lock_guard lock(mutex_);
    record_ = record;
    return {};
  }

  Result<ServerHello> wait_ready(ServerChild& child, std::uint64_t log_offset) {
    const os::Deadline deadline(options_.ready_within);
    while (!deadline.passed() && !stopping_) {
      if (const auto how = child.ended()) {
        return fail(Code::Unavailable,
                    with_words(fmt::format("nats-server ended ({})", *how),
                               last_words(options_.log, log_offset)),
                    fmt::format("its log is {}", options_.log.string()));
      }
      if (auto hello = read_hello(options_.host, options_.port, kHelloWithin)) {
        return hello;
      }
      static_cast<void>(os::wait_readable(child.pidfd(), kBetweenHellos));
    }
    if (stopping_) {
      return fail(Code::Interrupted, "nats-server was stopped before it was ready");
    }
    return fail(
        Code::Timeout,
        with_words(fmt::format("nats-server does not answer on {}:{} within {} s", options_.host,
                               options_.port, options_.ready_within.count() / 1000),
                   last_words(options_.log, log_offset)),
        fmt::format("its log is {}", options_.log.string()));
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
    os::Milliseconds pause = options_.first_pause;
    auto started = Clock::now();
    while (wait_for_end()) {
      say(with_words(fmt::format("nats-server ended ({})", child_->ended().value_or("gone")),
                     last_words(options_.log, 0)));
      child_.reset();
      if (Clock::now() - started > kStayedUp) {
        pause = options_.first_pause;
      }
      if (!start_again(pause)) {
        return;
      }
      started = Clock::now();
    }
  }

  /// Tries until it runs, each time after a longer pause; false where it is to be stopped.
  bool start_again(os::Milliseconds& pause) {
    for (;;) {
      if (os::wait_readable(wake_.get(), pause) || stopping_) {
        return false;
      }
      pause = std::min(pause * 2, options_.last_pause);
      Status launched = options_.prepare ? options_.prepare() : Status();
      launched = launched ? check_port() : std::move(launched);
      launched = launched ? launch() : std::move(launched);
      if (launched) {
        ++restarts_;
        return true;
      }
      say(launched.error().message);
    }
  }

  const ManagedServerOptions options_;
  os::Fd wake_;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> restarts_ = 0;
  std::optional<ServerChild> child_;  // the supervisor's while it runs
  std::thread supervisor_;
  mutable std::mutex mutex_;  // of the record
  ServerRecord record_;
};

int end_servers_of(const std::filesystem::path& config, std::chrono::milliseconds stop_within) {
  int ended = 0;
  const std::array<std::string, 2> words{"-c", config.string()};
  for (const auto& mark : os::processes_with_arguments(words)) {
    if (auto child = ServerChild::adopt(mark)) {
      child->stop(stop_within);
      ++ended;
    }
  }
  return ended;
}

ManagedServer::ManagedServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
ManagedServer::~ManagedServer() = default;

Result<std::unique_ptr<ManagedServer>> ManagedServer::start(ManagedServerOptions options) {
  auto state = std::make_unique<State>(std::move(options));
  MESH_CHECK(state->begin());
  return std::unique_ptr<ManagedServer>(new ManagedServer(std::move(state)));
}

Status ManagedServer::stop() {
  return state_->stop();
}
ServerRecord ManagedServer::record() const {
  return state_->record();
}
int ManagedServer::restarts() const {
  return state_->restarts();
}

}  // namespace mesh::bus
