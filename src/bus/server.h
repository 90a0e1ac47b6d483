#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "bus/server_program.h"
#include "bus/server_record.h"
#include "os/managed_process.h"

namespace mesh::bus {

struct ManagedServerOptions {
  ServerProgram program;
  std::filesystem::path config;     // what it is started with; written by the caller
  std::filesystem::path directory;  // its working directory
  std::filesystem::path log;       // its output: about `log_limit` bytes, and one older file beside
  std::filesystem::path record;    // server.json
  std::string host = "127.0.0.1";  // where it listens, as the configuration says; no brackets
  int port = 4222;
  std::uint64_t log_limit = std::uint64_t{8} * 1024 * 1024;
  std::chrono::milliseconds ready_within{60'000};
  // 2.15 takes about 11 ms for each consumer to stop: 107 s at 10,000. Past this it is killed.
  std::chrono::milliseconds stop_within{240'000};
  std::chrono::milliseconds first_pause{
      1000};  // before it is started again; doubles up to the last
  std::chrono::milliseconds last_pause{30'000};
  /// Called before it is started again: makes the configuration what it is to start with. Any
  /// thread.
  std::function<Status()> prepare;
  std::function<void(const std::string&)>
      say;  // a line for each start, end and failure; any thread
};

/// A nats-server that runs beside this process, as os::ManagedProcess has it.
class ManagedServer {
 public:
  /// Returns when it answers on its port, or with its own last words when it does not. `Conflict`
  /// where something else listens there.
  [[nodiscard]] static Result<std::unique_ptr<ManagedServer>> start(ManagedServerOptions options);
  ManagedServer(const ManagedServer&) = delete;
  ManagedServer& operator=(const ManagedServer&) = delete;
  ~ManagedServer();

  /// Asks it to end (SIGINT), waits `stop_within`, then kills it; removes the record. Twice is
  /// once.
  [[nodiscard]] Status stop();

  [[nodiscard]] ServerRecord record() const;
  /// How often it was started again since `start`.
  [[nodiscard]] int restarts() const;

 private:
  explicit ManagedServer(std::unique_ptr<os::ManagedProcess> process);
  std::unique_ptr<os::ManagedProcess> process_;
};

/// Ends every nats-server that was started with this configuration (`-c config`): what a controller
/// that died in the middle left. How many that were.
int end_servers_of(const std::filesystem::path& config,
                   std::chrono::milliseconds stop_within = std::chrono::milliseconds{240'000});

}  // namespace mesh::bus
