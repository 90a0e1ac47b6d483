#include "http/loop.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "http/curl_transfer.h"
#include "http/task.h"

namespace mesh::http {
namespace {

// How often deadlines are looked at while something is under way.
constexpr os::Milliseconds kLook{200};
constexpr os::Milliseconds kLongest{60'000};
constexpr long kKeptConnections = 64;
constexpr std::size_t kKeptHandles = 16;

}  // namespace

/// The transfers under way.
struct Loop::Engine {
  struct CleanMulti {
    void operator()(CURLM* handle) const { curl_multi_cleanup(handle); }
  };
  struct CleanEasy {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
  };
  using EasyHandle = std::unique_ptr<CURL, CleanEasy>;

  struct Running {
    EasyHandle handle;
    std::unique_ptr<CurlTransfer> transfer;
    std::optional<Fetched> result;
  };

  std::unique_ptr<CURLM, CleanMulti> multi;
  std::vector<EasyHandle> idle;
  std::vector<Running*> running;

  Engine() : multi(curl_multi_init()) {
    if (multi == nullptr) {
      throw std::bad_alloc();
    }
    curl_multi_setopt(multi.get(), CURLMOPT_MAXCONNECTS, kKeptConnections);
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine() { idle.clear(); }

  EasyHandle take_handle() {
    if (!idle.empty()) {
      EasyHandle handle = std::move(idle.back());
      idle.pop_back();
      return handle;
    }
    EasyHandle handle(curl_easy_init());
    if (handle == nullptr) {
      throw std::bad_alloc();
    }
    return handle;
  }

  void begin(Running& one) {
    running.push_back(&one);
    curl_multi_add_handle(multi.get(), one.handle.get());
  }

  void end(Running& one, int code, Loop& loop) {
    curl_multi_remove_handle(multi.get(), one.handle.get());
    std::erase(running, &one);
    Task& task = one.transfer->task();
    one.result = one.transfer->finish(code);
    one.transfer.reset();
    if (idle.size() < kKeptHandles) {
      idle.push_back(std::move(one.handle));
    }
    loop.make_ready(task);
  }

  /// Lets libcurl do what it can, and collects what has ended.
  void perform(Loop& loop) {
    int still = 0;
    curl_multi_perform(multi.get(), &still);
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi.get(), &left)) {
      if (message->msg == CURLMSG_DONE) {
        // The message is gone once the handle is removed.
        CURL* const handle = message->easy_handle;
        const auto code = static_cast<int>(message->data.result);
        const auto found = std::ranges::find_if(
            running, [&](const Running* one) { return one->handle.get() == handle; });
        if (found != running.end()) {
          end(**found, code, loop);
        }
      }
    }
  }

  /// Pauses that are over and transfers that were cancelled; true where one goes on at once.
  bool carry_out(Loop& loop) {
    bool any = false;
    for (Running* one : std::vector(running)) {
      any = one->transfer->carry_out() || any;
      if (one->transfer->cancelled()) {
        end(*one, CURLE_ABORTED_BY_CALLBACK, loop);
        any = true;
      }
    }
    return any;
  }
};

Loop::Loop(const os::Clock& clock) : Loop(clock, Options()) {}

Loop::Loop(const os::Clock& clock, Options options)
    : clock_(clock),
      options_(std::move(options)),
      began_(clock.monotonic()),
      engine_(std::make_unique<Engine>()) {}

Loop::~Loop() = default;

void Loop::spawn(std::function<void()> task) {
  tasks_.push_back(std::make_unique<Task>(std::move(task)));
  ready_.push_back(tasks_.back().get());
}

void Loop::stop(Error error) {
  if (!stopped_) {
    stopped_ = std::move(error);
  }
}

void Loop::make_ready(Task& task) {
  if (!std::exchange(task.ready, true)) {
    ready_.push_back(&task);
  }
}

void Loop::pause_current() {
  Task& task = *current_;
  task.ready = false;
  task.fiber.pause();
}

void Loop::run_ready() {
  while (!ready_.empty()) {
    Task* const task = ready_.front();
    ready_.pop_front();
    current_ = task;
    task->fiber.resume();
    current_ = nullptr;
    if (task->fiber.ended()) {
      std::erase_if(tasks_, [&](const auto& one) { return one.get() == task; });
    }
  }
}

void Loop::wake_sleepers() {
  const os::Monotonic now = clock_.monotonic();
  while (!sleeping_.empty() && sleeping_.begin()->first <= now) {
    make_ready(*sleeping_.begin()->second);
    sleeping_.erase(sleeping_.begin());
  }
}

void Loop::wake_everybody() {
  for (auto* one : std::vector(engine_->running)) {
    one->transfer->cancel(*stopped_);
  }
  engine_->carry_out(*this);
  for (const auto& [when, task] : std::exchange(sleeping_, {})) {
    make_ready(*task);
  }
  for (Waiters* waiters : std::exchange(waiting_, {})) {
    for (Task* task : std::exchange(waiters->tasks, {})) {
      make_ready(*task);
    }
  }
}

std::optional<os::Milliseconds> Loop::next_sleeper() const {
  if (sleeping_.empty()) {
    return std::nullopt;
  }
  const auto left =
      std::chrono::ceil<os::Milliseconds>(sleeping_.begin()->first - clock_.monotonic());
  return std::max(left, os::Milliseconds(0));
}

void Loop::check_timeout() {
  if (options_.timeout && clock_.monotonic() - began_ >= *options_.timeout) {
    stop({Code::Timeout,
          fmt::format("not done within {} s", options_.timeout->count() / 1000),
          "give it longer with --timeout; what is done already stays",
          {}});
  }
}

void Loop::pass_time() {
  const bool busy = !engine_->running.empty();
  const os::Milliseconds longest = busy || options_.timeout ? kLook : kLongest;
  const os::Milliseconds time = std::min(next_sleeper().value_or(longest), longest);
  if (!busy && options_.idle) {
    options_.idle(time);
    return;
  }
  curl_waitfd stop{options_.stop_fd, CURL_WAIT_POLLIN, 0};
  const unsigned extra = options_.stop_fd >= 0 ? 1 : 0;
  curl_multi_poll(engine_->multi.get(), &stop, extra, static_cast<int>(time.count()), nullptr);
  if (stop.revents != 0) {
    this->stop({Code::Interrupted, "interrupted", {}, {}});
  }
}

Status Loop::run() {
  os::Monotonic looked = clock_.monotonic();
  while (!tasks_.empty()) {
    run_ready();
    engine_->perform(*this);
    if (clock_.monotonic() - looked >= kLook) {
      looked = clock_.monotonic();
      for (auto* one : engine_->running) {
        one->transfer->check_limits();
      }
    }
    check_timeout();
    if (stopped_) {
      wake_everybody();
    }
    const bool goes_on = engine_->carry_out(*this);
    wake_sleepers();
    if (ready_.empty() && !goes_on && !tasks_.empty()) {
      pass_time();
    }
  }
  return stopped_ ? Status(std::unexpected(*stopped_)) : Status();
}

Fetched Loop::fetch(const Request& request) {
  if (stopped_) {
    return std::unexpected(Failure{Failure::Stage::Ours, *stopped_});
  }
  Engine::Running one;
  one.handle = engine_->take_handle();
  one.transfer = std::make_unique<CurlTransfer>(one.handle.get(), request, *current_, clock_);
  engine_->begin(one);
  while (!one.result) {
    pause_current();
  }
  return std::move(*one.result);
}

Status Loop::sleep(os::Milliseconds time) {
  if (stopped_) {
    return std::unexpected(*stopped_);
  }
  sleeping_.emplace(clock_.monotonic() + time, current_);
  pause_current();
  return stopped_ ? Status(std::unexpected(*stopped_)) : Status();
}

void Loop::suspend(Waiters& waiters) {
  if (waiters.tasks.empty()) {
    waiting_.push_back(&waiters);
  }
  waiters.tasks.push_back(current_);
  pause_current();
}

void Loop::await(Waiters& waiters, const std::function<bool()>& done) {
  while (!done()) {
    suspend(waiters);
  }
}

Status Loop::wait(Waiters& waiters) {
  if (stopped_) {
    return std::unexpected(*stopped_);
  }
  suspend(waiters);
  return stopped_ ? Status(std::unexpected(*stopped_)) : Status();
}

void Loop::wake(Waiters& waiters) {
  std::erase(waiting_, &waiters);
  for (Task* task : std::exchange(waiters.tasks, {})) {
    make_ready(*task);
  }
}

}  // namespace mesh::http
