#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/clock.h"
#include "os/process.h"
#include "os/server_record.h"

namespace mesh::os {

/// What a server says of itself to whoever connects.
struct ServerHello {
  std::string id;
  std::string version;  // empty where it does not say
  bool tls = false;     // it wants whoever connects to speak TLS
};

struct ManagedOptions {
  std::string name;    // in what is said: `nats-server`
  SpawnOptions spawn;  // argv, directory, environment; its output goes to the log
  std::string log;     // about `log_limit` bytes, and one older file beside
  std::string record;  // server.json
  std::string host;    // where it listens; no brackets
  int port = 0;
  // One of an earlier run is taken over where these three are the same.
  std::string program;
  std::string version;
  std::string config;
  std::string id;  // that its hello must have; empty: any
  /// Arguments by which those are known that an earlier run left without a record, and that are
  /// ended before it is started.
  std::vector<std::string> marks;
  /// Called before it is started again: makes the configuration what it is to start with. Any
  /// thread.
  std::function<Status()> prepare;
  /// Asks who listens at the place. Errors: Unavailable (nobody); anything else is somebody.
  std::function<Result<ServerHello>(Milliseconds timeout)> hello;
  /// What the output of one that ended says about why, in one line; empty where nothing.
  std::function<std::string(std::string_view output)> last_words;
  std::string taken_hint;  // what to do where something else listens there
  /// A file whose lock is held while it is started; while another holds it, it is not started (and
  /// whoever holds it may end it). Empty: none.
  std::string start_lock;
  int stop_signal = SIGINT;
  std::uint64_t log_limit = std::uint64_t{8} * 1024 * 1024;
  Milliseconds ready_within{60'000};
  Milliseconds stop_within{60'000};  // then it is killed
  Milliseconds first_pause{1000};    // before it is started again; doubles up to the last
  Milliseconds last_pause{30'000};
  std::function<void(const std::string&)> say;  // a line for each start, end, failure; any thread
};

/// A server that runs beside this process: started, watched by one thread, started again when it
/// ends, and stopped in order with the object. It survives this process's own crash: the next
/// `start` with the same record takes it over, with all its connections.
class ManagedProcess {
 public:
  /// Returns when it answers on its port, or with its own last words when it does not. `Conflict`
  /// where something else listens there, or holds the lock for longer than `ready_within`.
  [[nodiscard]] static Result<std::unique_ptr<ManagedProcess>> start(ManagedOptions options);
  ManagedProcess(const ManagedProcess&) = delete;
  ManagedProcess& operator=(const ManagedProcess&) = delete;
  ~ManagedProcess();

  /// Asks it to end, waits `stop_within`, then kills it; removes the record. Twice is once.
  [[nodiscard]] Status stop();

  [[nodiscard]] ServerRecord record() const;
  /// How often it was started again since `start`.
  [[nodiscard]] int restarts() const;

 private:
  class State;
  explicit ManagedProcess(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace mesh::os
