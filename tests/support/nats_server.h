#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mesh::test {

/// The servers that every test of the bus runs on, `2.10` and `newest` (what Debian's testing suite
/// has), whether or not they are there: a test whose server is missing fails with the words of
/// `start`.
[[nodiscard]] std::vector<std::string> server_versions();

/// nats-<version>/nats-server of this checkout's build/tools, or of the directory that the variable
/// MESH_TEST_TOOLS names.
[[nodiscard]] std::filesystem::path server_program(std::string_view version);

/// A directory under the system's temporary one, removed with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  TemporaryDirectory(TemporaryDirectory&&) noexcept;
  TemporaryDirectory& operator=(TemporaryDirectory&&) noexcept;
  ~TemporaryDirectory();
  [[nodiscard]] const std::filesystem::path& path() const;

 private:
  std::filesystem::path path_;
};

/// A port of 127.0.0.1 that was free a moment ago.
[[nodiscard]] int free_port();

/// A real server on loopback, in a temporary directory of its own. `config` is the text of its
/// configuration without `listen`, `server_name`-like heads being the caller's; in it the word
/// `@DIR@` becomes the temporary directory and `@PORT@` the port. Killed by its pid with the
/// object.
class NatsServer {
 public:
  /// Returns when the server answers on its port. `NotFound` where the version's program is
  /// missing, with how to fetch it; otherwise the server's own words.
  [[nodiscard]] static Result<NatsServer> start(
      std::string_view version, std::string_view config,
      std::chrono::milliseconds timeout = std::chrono::milliseconds{30'000});
  NatsServer(NatsServer&&) noexcept;
  NatsServer& operator=(NatsServer&&) noexcept;
  ~NatsServer();

  [[nodiscard]] int port() const;
  [[nodiscard]] std::string url() const;  // nats://127.0.0.1:port
  [[nodiscard]] int pid() const;
  [[nodiscard]] const std::filesystem::path& directory() const;
  [[nodiscard]] const std::filesystem::path& config_file() const;
  /// The log so far.
  [[nodiscard]] std::string log() const;
  /// Replaces the configuration's text (the same words are replaced in it); it is in force only
  /// after a reload.
  void write_config(std::string_view config) const;
  /// Ends it now and starts it again on the same port, directory and configuration.
  [[nodiscard]] Status restart();
  /// Kills it (SIGKILL) and waits. The directory stays until the object goes.
  void kill();

 private:
  struct State;
  explicit NatsServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace mesh::test
