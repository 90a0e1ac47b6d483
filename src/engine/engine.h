#pragma once

#include <mutex>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "engine/container.h"
#include "http/message.h"
#include "os/clock.h"

namespace mesh::engine {

/// What answers at the socket.
struct About {
  std::string name;  // `podman`, `docker`
  std::string version;
  std::string api;        // the version of the API that is asked
  bool rootless = false;  // its networks cannot be reached from this machine
};

struct EngineOptions {
  std::string socket;
  /// Readable: every call ends with Interrupted (os/interrupt.h). -1: none.
  int stop_fd = -1;
  os::Milliseconds answer_within{60'000};
  os::Milliseconds pull_within{3'600'000};
};

struct Login {
  std::string user;
  std::string password;  // empty: none is sent
};

struct LogQuery {
  std::optional<std::string> since;  // seconds and nanoseconds: `1700000000.000000001`
  std::optional<std::size_t> tail;   // the last lines alone
  std::size_t most_lines = 1000;     // of what was asked for, from its beginning
  std::size_t most_bytes = std::size_t{1} << 20U;
};

struct LogLine {
  std::string time;  // as the engine writes it (RFC 3339, nanoseconds)
  std::string text;
  bool error = false;  // of the second stream
};

/// A client of the Docker Engine API on a unix socket, which docker and podman serve. It knows
/// containers, images and volumes and nothing of modules. Each call is one connection of its own,
/// so members may be called from several threads at once, and an engine that ends when nobody is
/// connected may do so. Every call has a deadline. Errors by code: Unavailable (nobody listens at
/// the socket, or the answer broke off: what was asked for may have been done), Timeout, NotFound
/// (404), Conflict (409; a port or a name that is taken), Resource (no space, no memory),
/// PermissionDenied, InvalidArgument (400), Unsupported (501), Interrupted; Internal (any other
/// word of the engine, as it is).
class Engine {
 public:
  explicit Engine(EngineOptions options);

  /// Asks once and keeps the answer until the engine is found away.
  [[nodiscard]] Result<About> about();

  /// Those that have each of the labels, in any state.
  [[nodiscard]] Result<std::vector<Listed>> list(const Labels& labels);
  /// `id` is an id or a name, here and below.
  [[nodiscard]] Result<Inspected> inspect(const std::string& id);
  /// Its id. Errors: Conflict where the name is taken; NotFound where the image is not there.
  [[nodiscard]] Result<std::string> create(const ContainerSpec& spec);
  /// One that runs is no error.
  [[nodiscard]] Status start(const std::string& id);
  /// Its stop signal, and SIGKILL after `grace` (whole seconds, rounded up). One that does not run
  /// is no error.
  [[nodiscard]] Status stop(const std::string& id, os::Milliseconds grace);
  /// One that does not run is Conflict.
  [[nodiscard]] Status kill(const std::string& id, const std::string& signal);
  /// Waits until it does not run: its exit code.
  [[nodiscard]] Result<int> wait(const std::string& id, os::Milliseconds timeout);
  /// Kills it where it runs. Its named volumes stay.
  [[nodiscard]] Status remove(const std::string& id);
  [[nodiscard]] Result<std::vector<LogLine>> logs(const std::string& id, const LogQuery& query);
  /// Runs the command that the container was made with for this: true where it exits with 0.
  /// Errors: also Unsupported (the engine is not podman), Conflict (it does not run).
  ///
  /// podman keeps two processes for five minutes after each `execute`; after this it keeps none.
  [[nodiscard]] Result<bool> check(const std::string& id, os::Milliseconds timeout);
  /// Runs a command in it: the command's exit code. What it writes is dropped. After the timeout
  /// it is killed where this process may do so.
  [[nodiscard]] Result<int> execute(const std::string& id, const std::vector<std::string>& command,
                                    os::Milliseconds timeout);

  /// Of the network that containers are on by default: where they reach this machine.
  [[nodiscard]] Result<std::string> gateway();

  [[nodiscard]] Result<bool> has_image(const std::string& reference);
  /// Errors: also those that stand in the stream of a pull that began well.
  [[nodiscard]] Status pull(const std::string& reference, const Login& login);

  /// Also one that is there already, which keeps the labels that it has: as it is now.
  [[nodiscard]] Result<Volume> create_volume(const Volume& volume);
  [[nodiscard]] Result<std::vector<Volume>> volumes(const Labels& labels);
  /// One that is not there is no error. Errors: Conflict (a container uses it).
  [[nodiscard]] Status remove_volume(const std::string& name);

 private:
  struct Call {
    http::Request request;
    std::string subject;  // named in errors: `container x`
  };
  /// Of the API's version; `target` begins with `/`.
  [[nodiscard]] Result<Call> call(std::string method, std::string_view target, std::string subject);
  /// The answer, where it is a success or 304.
  [[nodiscard]] Result<http::Response> ask(const Call& call);
  [[nodiscard]] Result<nlohmann::json> ask_json(const Call& call);
  [[nodiscard]] Result<http::Response> fetch(const http::Request& request);
  [[nodiscard]] http::Request plain(std::string method, std::string_view target) const;
  [[nodiscard]] Result<About> look();
  /// Makes `create` switch the image's own health check off.
  [[nodiscard]] Result<bool> checks_health(const std::string& image);
  void kill_exec(const std::string& exec, const std::string& container);

  EngineOptions options_;
  std::mutex mutex_;  // guards about_
  std::optional<About> about_;
};

}  // namespace mesh::engine
