#pragma once

#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "http/message.h"
#include "os/clock.h"

namespace mesh::http {

using Fetched = std::expected<Response, Failure>;

class Task;

/// Tasks that wait for the same thing. It must outlive their wait.
struct Waiters {
  std::vector<Task*> tasks;
};

/// One thread that many requests share. Work is written as tasks: functions that run in turns on
/// this thread (fiber.h) and pause where they fetch, sleep or wait; nothing else of the loop runs
/// between two such points, so tasks need no locks. Connections are kept and used again. Nothing
/// here starts a thread (libcurl looks names up in short-lived ones of its own).
class Loop {
 public:
  struct Options {
    /// What passes the time where nothing but sleeping tasks is left: a test that holds the clock
    /// moves it here. By default the loop really waits.
    std::function<void(os::Milliseconds)> idle;
    /// A descriptor that, once readable, ends everything with Interrupted (os/interrupt.h).
    int stop_fd = -1;
    /// From the loop's beginning: then everything ends with Timeout.
    std::optional<os::Milliseconds> timeout;
  };

  /// `clock` is borrowed for the loop's life.
  explicit Loop(const os::Clock& clock);
  Loop(const os::Clock& clock, Options options);
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop();

  /// Begins a task, at the loop's next turn.
  void spawn(std::function<void()> task);

  /// Runs until every task has ended. Errors: what `stop` was told, Interrupted; by then every task
  /// has ended with it.
  [[nodiscard]] Status run();

  /// From now on every fetch, sleep and wait fails with `error`, those under way too. The first
  /// call decides.
  void stop(Error error);
  [[nodiscard]] bool stopped() const { return stopped_.has_value(); }

  // Only from within a task.

  /// Sends the request and waits for the answer, whatever its status. `request` must stay as it is
  /// meanwhile. Redirects are not followed.
  [[nodiscard]] Fetched fetch(const Request& request);
  /// Errors: as `run`.
  [[nodiscard]] Status sleep(os::Milliseconds time);
  /// Waits to be woken; what it was woken for may be gone again, so ask in a loop. Errors: as
  /// `run`.
  [[nodiscard]] Status wait(Waiters& waiters);
  /// Waits until `done`, which a task that is under way brings about: unlike the others it does not
  /// end early, so what that task borrows stays alive.
  void await(Waiters& waiters, const std::function<bool()>& done);
  /// Wakes all that wait there; from a task, a sink or a source.
  void wake(Waiters& waiters);

  [[nodiscard]] const os::Clock& clock() const { return clock_; }

  struct Engine;  // loop.cc's own: what knows libcurl

 private:
  friend struct Engine;
  void pause_current();
  void make_ready(Task& task);
  void run_ready();
  void wake_sleepers();
  void wake_everybody();
  void check_timeout();
  void suspend(Waiters& waiters);
  void pass_time();
  [[nodiscard]] std::optional<os::Milliseconds> next_sleeper() const;

  const os::Clock& clock_;
  Options options_;
  os::Monotonic began_;
  std::optional<Error> stopped_;
  std::vector<std::unique_ptr<Task>> tasks_;
  std::deque<Task*> ready_;
  std::multimap<os::Monotonic, Task*> sleeping_;
  std::vector<Waiters*> waiting_;
  Task* current_ = nullptr;
  std::unique_ptr<Engine> engine_;
};

}  // namespace mesh::http
