#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "bus/server_program.h"

namespace mesh::bus {

/// What bus/server.json holds, so that other verbs find the managed server.
struct ServerRecord {
  std::int64_t pid = 0;
  std::uint64_t started =
      0;             // the process's start time in clock ticks after boot: a pid alone is reused
  std::string host;  // address to dial
  int port = 0;
  std::string version;
  std::string program;
  std::string config;  // the configuration's file
  std::string id;      // the server's own id
};

/// The record in `file`, if its process still runs; `nullopt` where there is no file or the process
/// is gone (or the pid is another's). `Corrupt` where the file cannot be read as a record.
[[nodiscard]] Result<std::optional<ServerRecord>> running_server(const std::filesystem::path& file);

struct ManagedServerOptions {
  ServerProgram program;
  std::filesystem::path config;     // what it is started with; written by the caller
  std::filesystem::path directory;  // its working directory
  std::filesystem::path log;        // kept: at most `log_limit` bytes and one older file beside
  std::filesystem::path record;     // server.json
  std::string host = "127.0.0.1";   // where it listens, as the configuration says; for readiness
  int port = 4222;
  std::uint64_t log_limit = 8 * 1024 * 1024;
  std::chrono::milliseconds ready_within{60'000};
  // 2.15 takes about 11 ms for each consumer to stop: 107 s at 10,000. Past this it is killed.
  std::chrono::milliseconds stop_within{240'000};
  std::function<void(const std::string&)>
      say;  // one line for each start, end and failure; any thread
};

/// A nats-server as a child of this process: started, watched, started again when it ends (after
/// 1 s, doubling to 30 s while it does not become ready), and stopped in order with the object.
class ManagedServer {
 public:
  /// Returns when it answers on its port, or with its own last words when it does not. `Conflict`
  /// where the port is already another's.
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
  struct State;
  explicit ManagedServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace mesh::bus
