#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tests/support/nats_server.h"

namespace mesh::test {

/// Debian's docker-registry on a free port of loopback, its files in a temporary directory, deletes
/// allowed. Killed by its pid with the object.
class RegistryProcess {
 public:
  struct Options {
    /// `user:bcrypt-hash` for Basic authentication (`htpasswd -B`); empty: everybody may do all.
    std::string htpasswd;
    /// Lines of YAML at the end of its configuration.
    std::string more;
  };

  /// Returns when it answers. NotFound where the program is missing.
  [[nodiscard]] static Result<RegistryProcess> start();
  [[nodiscard]] static Result<RegistryProcess> start(const Options& options);
  RegistryProcess(RegistryProcess&&) noexcept;
  RegistryProcess& operator=(RegistryProcess&&) noexcept;
  ~RegistryProcess();

  [[nodiscard]] int port() const;
  [[nodiscard]] std::string address() const;  // 127.0.0.1:port
  [[nodiscard]] int pid() const;
  /// What is below is `docker/registry/v2/…`.
  [[nodiscard]] std::filesystem::path storage() const;
  /// The file with a blob's or manifest's bytes.
  [[nodiscard]] std::filesystem::path data_file(std::string_view digest) const;

  /// Requests so far, as `GET /v2/…`; those of the waits for its start are left out.
  [[nodiscard]] std::vector<std::string> requests() const;
  /// Those that were made since the last call.
  [[nodiscard]] std::vector<std::string> new_requests();

  /// Kills it (SIGKILL) and waits; the files stay.
  void kill();
  /// Starts it again on the same port and files.
  [[nodiscard]] Status restart();

 private:
  struct State;
  explicit RegistryProcess(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace mesh::test
