#pragma once

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "bus/jetstream.h"
#include "controller/bus_link.h"
#include "controller/controller.h"
#include "controller/prove_principals.h"
#include "controller/push.h"
#include "tests/support/nats_server.h"

namespace mesh::test {

/// Goes on for ever, and remembers what was said. `fail_at` > 0: the fail_at-th step fails, as if
/// the process had ended there.
class CountingSteps : public controller::Steps {
 public:
  explicit CountingSteps(int fail_at = 0) : fail_at_(fail_at) {}
  Status next(std::string_view what) override {
    last_ = what;
    return ++count_ == fail_at_ ? fail(Code::Interrupted, "ended before: " + last_) : Status();
  }
  void say(std::string_view /*line*/) override {}
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] const std::string& last() const { return last_; }

 private:
  int fail_at_;
  int count_ = 0;
  std::string last_;
};

/// Kills its process, as the kernel would, before the `at`-th step.
class KillingSteps : public CountingSteps {
 public:
  explicit KillingSteps(int at) : at_(at) {}
  Status next(std::string_view what) override {
    if (count() + 1 == at_) {
      (void)::raise(SIGKILL);
    }
    return CountingSteps::next(what);
  }

 private:
  int at_;
};

/// The system's clock, which a test may put forward.
class ForwardClock : public os::SystemClock {
 public:
  [[nodiscard]] os::Monotonic monotonic() const override {
    return os::SystemClock::monotonic() + ahead;
  }
  [[nodiscard]] os::WallTime now() const override { return os::SystemClock::now() + wall_ahead; }
  std::chrono::milliseconds ahead{0};
  std::chrono::milliseconds wall_ahead{0};
};

/// A mesh in a temporary directory, with its controller and a real managed server of one version.
class PushWorld {
 public:
  /// `mesh_toml` without [bus]: it gets a free port and the version's server.
  PushWorld(const std::string& version, const std::string& mesh_toml);

  /// Writes a file below the directory of mesh.toml.
  void write(const std::string& path, const std::string& text) const;
  /// Replaces mesh.toml (without [bus]).
  void declare(const std::string& mesh_toml);
  /// Starts the controller; a second call first ends the one before.
  void start();
  void stop() { controller_.reset(); }
  /// What the controller does when its time has come again.
  void tick_later();
  /// Where the server listens, and more lines of [bus]; takes effect with `declare`.
  void listen_on(const std::string& host, const std::string& more = {}) {
    host_ = host;
    more_ = more;
  }
  /// Puts the wall clock forward from now on.
  void pass(std::chrono::milliseconds time) { clock_.wall_ahead += time; }
  /// Another program in place of the version's server; takes effect with `declare`.
  void use_program(const std::string& program) { program_ = program; }

  [[nodiscard]] Result<controller::PushReport> push(controller::PushOptions options = {});
  [[nodiscard]] Result<controller::PushReport> push(controller::Steps& steps,
                                                    controller::PushOptions options = {});
  [[nodiscard]] Result<controller::Plan> plan(bool adopt = false);

  /// A connection as the controller, for looking and for spoiling.
  [[nodiscard]] bus::Connection& bus();
  [[nodiscard]] bus::JetStream jetstream() { return bus::JetStream(bus()); }
  /// A connection as a principal.
  [[nodiscard]] Result<bus::Connection> as(const std::string& principal);
  [[nodiscard]] inventory::State& state() { return *state_; }
  [[nodiscard]] const controller::Location& location() const { return location_; }
  [[nodiscard]] std::string config_text() const;
  [[nodiscard]] int port() const { return port_; }

 private:
  [[nodiscard]] model::Reading reading() const;
  [[nodiscard]] controller::Edges edges() { return {clock_, random_}; }

  TemporaryDirectory directory_;
  int port_;
  std::string program_;
  std::string host_ = "127.0.0.1";
  std::string more_;
  ForwardClock clock_;
  os::SystemRandom random_;
  controller::Location location_;
  std::optional<inventory::State> state_;
  std::unique_ptr<controller::Controller> controller_;
  std::optional<controller::BusLink> link_;
};

namespace detail {

template <class T>
T must(Result<T> result) {
  if (!result) {
    throw std::runtime_error(result.error().message + " (" + result.error().hint + ")");
  }
  return std::move(*result);
}

}  // namespace detail

inline PushWorld::PushWorld(const std::string& version, const std::string& mesh_toml)
    : port_(free_port()), program_(server_program(version).string()) {
  location_.root = directory_.path().string();
  location_.state = location_.root + "/.mesh";
  declare(mesh_toml);
}

inline void PushWorld::write(const std::string& path, const std::string& text) const {
  const auto file = std::filesystem::path(location_.root) / path;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

inline void PushWorld::declare(const std::string& mesh_toml) {
  write("mesh.toml", mesh_toml + fmt::format("\n[bus]\nlisten = \"{}:{}\"\nprogram = \"{}\"\n{}",
                                             host_, port_, program_, more_));
}

inline model::Reading PushWorld::reading() const {
  auto reading = controller::read_declarations(location_);
  if (!reading.mesh) {
    throw std::runtime_error(reading.problems.empty() ? "no mesh"
                                                      : model::to_text(reading.problems.front()));
  }
  return reading;
}

inline void PushWorld::start() {
  link_.reset();
  controller_.reset();
  if (!state_) {
    state_.emplace(
        detail::must(controller::open_state(location_, "test", edges(), [](std::string_view) {})));
  }
  const auto declared = reading();
  controller_ = detail::must(controller::Controller::start(*state_, location_, *declared.mesh,
                                                           edges(), [](std::string_view) {}));
}

inline void PushWorld::tick_later() {
  clock_.ahead += std::chrono::minutes{1};
  controller_->tick();
}

inline Result<controller::PushReport> PushWorld::push(controller::PushOptions options) {
  CountingSteps steps;
  return push(steps, std::move(options));
}

inline Result<controller::PushReport> PushWorld::push(controller::Steps& steps,
                                                      controller::PushOptions options) {
  options.by = "tester@test";
  return controller::push(*state_, location_, reading(), options, edges(), steps);
}

inline Result<controller::Plan> PushWorld::plan(bool adopt) {
  const auto declared = reading();
  CountingSteps steps;
  auto link =
      controller::connect_bus(*state_, *declared.mesh, location_.root, bus::Milliseconds{5000});
  if (!link) {
    return std::unexpected(link.error());
  }
  return controller::make_plan(*state_, {location_, declared, adopt, clock_.now()}, *link, steps);
}

inline bus::Connection& PushWorld::bus() {
  if (!link_) {
    link_.emplace(detail::must(controller::connect_bus(*state_, *reading().mesh, location_.root,
                                                       bus::Milliseconds{5000})));
  }
  return link_->mesh;
}

inline Result<bus::Connection> PushWorld::as(const std::string& principal) {
  const auto declared = reading();
  MESH_TRY(const auto address, controller::bus_address(*declared.mesh, state_->paths));
  MESH_TRY(const auto options,
           controller::connect_options(*state_, *declared.mesh, location_.root, address, principal,
                                       "_INBOX." + principal));
  return bus::Connection::connect(options);
}

inline std::string PushWorld::config_text() const {
  std::ifstream file(state_->paths.bus_config(), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace mesh::test
