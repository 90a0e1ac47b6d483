#include "controller/up.h"

#include <fcntl.h>
#include <poll.h>

#include <unistd.h>

#include <csignal>

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "bus/server.h"
#include "controller/controller.h"
#include "controller/local_hosts.h"
#include "controller/node_logs.h"
#include "controller/nodes.h"
#include "controller/recorded.h"
#include "controller/registry_link.h"
#include "os/files.h"
#include "os/lock.h"

namespace mesh::controller {

namespace {

constexpr os::Milliseconds kTick{200};
// nats-server may take four minutes to stop.
constexpr os::Milliseconds kEndWithin{300'000};
constexpr os::Milliseconds kUpLook{200};
constexpr os::Milliseconds kLookConverged{2'000};
constexpr const char* kStaysUp =
    "it stays up: see `mesh status` and `mesh logs`; `mesh down` ends it";
constexpr std::size_t kMostError = 64U << 10U;

/// Takes up what was pushed, by this process or another, and looks how the nodes of this machine
/// stand.
class Follower {
 public:
  Follower(inventory::State& state, const Location& location, const UpOptions& options, Edges edges,
           LocalHosts& hosts)
      : state_(state), location_(location), options_(options), edges_(edges), hosts_(hosts) {
    run_.since = os::rfc3339(edges.clock.now());
  }

  Status follow() {
    MESH_TRY(const auto latest, state_.inventory.latest());
    if (!latest || latest->number == run_.number) {
      return {};
    }
    MESH_TRY(auto recorded, recorded_mesh(state_.inventory));
    if (!recorded) {
      return {};
    }
    if (run_.number > 0) {
      options_.say(fmt::format("taking up push {}", recorded->push.number));
    }
    run_.number = recorded->push.number;
    dirty_ = true;
    mesh_ = recorded->mesh;
    logs_.reset();
    return hosts_.follow(std::move(recorded->mesh));
  }

  /// Where it is time to. True as long as everything is as declared.
  bool look() {
    const auto now = edges_.clock.monotonic();
    if (mesh_ && now - looked_ >= (converged_ ? kLookConverged : kUpLook)) {
      looked_ = now;
      if (const auto done = look_now(); !done) {
        link_.reset();  // the bus may be on its way
      }
    }
    return converged_;
  }

  /// No component is read any more.
  void end_logs() { logs_.reset(); }

 private:
  Status look_now() {
    if (!link_) {
      MESH_TRY(auto link, connect_bus(state_, *mesh_, location_.root, kBusTimeout));
      link_.emplace(std::move(link));
    }
    if (options_.on_line && !logs_) {
      MESH_TRY(const auto dial, asking_options(state_, *mesh_, location_.root));
      MESH_TRY(logs_, LogFollower::start(dial, log_sources(*mesh_), options_.on_line));
    }
    MESH_TRY(const auto standings, node_standings(state_, *mesh_, link_->mesh, edges_.clock.now()));
    const auto here = hosts_.nodes();
    std::vector<RunNode> nodes;
    for (const auto& node : standings) {
      if (std::ranges::binary_search(here, node.name)) {
        nodes.push_back({node.name, node.state, node.because});
        tell(nodes.back());
      }
    }
    converged_ =
        std::ranges::all_of(nodes, [](const RunNode& node) { return node.state == "converged"; });
    if (dirty_ || nodes != run_.nodes) {
      run_.nodes = std::move(nodes);
      MESH_TRY(run_.mark, os::mark_of(::getpid()));
      MESH_CHECK(write_run_state(state_.paths, run_));
      dirty_ = false;
    }
    return {};
  }

  void tell(const RunNode& node) {
    const auto known = std::ranges::find(run_.nodes, node.name, &RunNode::name);
    if (node.state != "unknown" && (known == run_.nodes.end() || *known != node)) {
      options_.say(fmt::format("{}: {}{}", node.name, node.state,
                               node.because.empty() ? "" : ": " + node.because));
    }
  }

  inventory::State& state_;
  const Location& location_;
  const UpOptions& options_;
  Edges edges_;
  LocalHosts& hosts_;
  RunState run_;
  bool dirty_ = false;
  bool converged_ = false;
  os::Monotonic looked_{};
  std::optional<model::Mesh> mesh_;
  std::optional<BusLink> link_;
  std::unique_ptr<LogFollower> logs_;
};

Status push_now(inventory::State& state, const Location& location, const model::Reading& reading,
                const UpOptions& options, Edges edges, os::Interrupt& interrupt) {
  const auto& say = options.say;
  OperatorSteps steps(interrupt, options.push_timeout, say);
  PushOptions push_options;
  push_options.verb = "up";
  push_options.yes = options.yes;
  push_options.by = operator_name();
  push_options.bring_images = options.bring_images;
  push_options.ask_for_images = options.ask_for_images;
  MESH_TRY(const auto report, push(state, location, reading, push_options, edges, steps));
  say(fmt::format("push {} is in force: {} can hear a declaration, {} can hear what they consume",
                  report.number, counted(report.machines, "machine"),
                  counted(report.modules, "module")));
  for (const auto& setting : report.after_restart) {
    say("note: " + setting.text());
  }
  for (const auto& note : report.notes) {
    say("note: " + note);
  }
  return {};
}

/// A `mesh up` that this process started. It is ended in order, since it has others to end, unless
/// it is let go.
class Started {
 public:
  Started(os::Process process, const os::Interrupt& interrupt)
      : process_(std::move(process)), interrupt_(interrupt) {}
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;
  ~Started() {
    if (!process_) {
      return;
    }
    process_->signal(SIGTERM);
    bool insisted = false;
    const os::Deadline deadline(kEndWithin);
    while (!process_->wait(kTick) && !deadline.passed()) {
      if (interrupt_.insisted() && !std::exchange(insisted, true)) {
        process_->signal(SIGTERM);
      }
    }
  }
  os::Process& process() { return *process_; }
  void let_go() {
    process_->detach();
    process_.reset();
  }

 private:
  std::optional<os::Process> process_;
  const os::Interrupt& interrupt_;
};

/// What the process wrote to its stdout, once it has ended.
std::string printed_by(os::Process& process) {
  std::string out;
  std::array<char, 4096> piece{};
  ssize_t got = 0;
  while (out.size() < kMostError &&
         (got = ::read(process.out().get(), piece.data(), piece.size())) > 0) {
    out.append(piece.data(), static_cast<std::size_t>(got));
  }
  return out;
}

std::string text_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// The error that the detached process ended with, as if it had been this one.
Error error_of(os::Process& process, const os::ExitStatus& status, const std::string& log) {
  const auto where = fmt::format("its log is {}", log);
  const auto document = nlohmann::json::parse(printed_by(process), nullptr, false);
  if (!document.is_object() || !document.contains("error") || !document["error"].is_object()) {
    return {Code::Internal, fmt::format("mesh up ended with {}", status.text()), where, {}};
  }
  const auto& said = document["error"];
  const auto hint = text_of(said, "hint");
  Error error{code_named(text_of(said, "code")),
              text_of(said, "message"),
              hint.empty() ? where : hint + "; " + where,
              {}};
  if (const auto file = text_of(said, "file"); !file.empty()) {
    const auto number = [&](const char* key) {
      return said.contains(key) && said[key].is_number_integer() ? said[key].get<int>() : 0;
    };
    error.place = {std::make_shared<const std::string>(file), number("line"), number("column")};
  }
  return error;
}

std::string not_as_declared(const RunState& state) {
  std::string out;
  for (const auto& node : state.nodes) {
    if (node.state != "converged") {
      out += fmt::format("\n  {}: {}{}", node.name, node.state,
                         node.because.empty() ? "" : ": " + node.because);
    }
  }
  return out;
}

bool is_taken_up(const RunState& state, std::int64_t number) {
  return state.number >= std::max<std::int64_t>(number, 1);
}

/// Nothing more is to be waited for.
bool has_failed(const RunState& state) {
  return !not_as_declared(state).empty() &&
         std::ranges::all_of(state.nodes, [](const RunNode& node) {
           return node.state == "converged" || node.state == "failed";
         });
}

/// Ends what a `mesh up` or `mesh controller` that died left running; false where there is nothing.
Result<bool> end_leftovers(const inventory::StatePaths& paths) {
  if (const auto holder = os::Lock::holder(controller_lock_file(paths))) {
    return fail(Code::Conflict,
                fmt::format("mesh {} (pid {}) is starting or ending", holder->verb, holder->pid),
                "try again in a moment");
  }
  const int servers =
      bus::end_servers_of(paths.bus_config()) + registry::end_servers_of(registry_paths(paths));
  return servers > 0;
}

}  // namespace

Status run_up(inventory::State& state, const Location& location, const model::Reading& reading,
              const UpOptions& options, Edges edges, os::Interrupt& interrupt) {
  MESH_TRY(auto program, mesh_host_program());
  const auto& say = options.say;
  interrupt.finish_in_order();  // nothing that is started here may be left behind
  MESH_TRY(const auto controller, Controller::start(state, location, *reading.mesh, edges, say));
  MESH_CHECK(push_now(state, location, reading, options, edges, interrupt));
  if (::geteuid() != 0) {
    say("not root: all modules run as this user; isolation on this machine ends at the bus");
  }
  LocalHosts hosts(state, location, edges, {std::move(program), options.engine, location.root},
                   say);
  Follower follower(state, location, options, edges, hosts);
  bool all_up = false;
  while (!interrupt.requested()) {
    if (const auto followed = follower.follow(); !followed) {
      say(followed.error().message);
    }
    controller->tick();
    hosts.tick();
    if (follower.look() && !std::exchange(all_up, true)) {
      say("all is as declared; Ctrl-C ends it");
    }
    std::vector<pollfd> polled{{interrupt.descriptor(), POLLIN, 0}};
    hosts.add_to(polled);
    (void)::poll(polled.data(), polled.size(), static_cast<int>(kTick.count()));
  }
  say("ending the modules; a second Ctrl-C kills those that do not end");
  follower.end_logs();
  const auto modules = hosts.stop(interrupt);
  (void)os::remove_tree(run_state_file(state.paths)).has_value();
  say(controller->registry() ? "ending the registry and the bus" : "ending the bus");
  auto managed = controller->stop();
  MESH_CHECK(modules);
  return managed;
}

Result<RunState> up_detached(const inventory::StatePaths& paths,
                             const std::optional<DetachedUp>& start, std::int64_t number,
                             os::Milliseconds timeout, const os::Interrupt& interrupt) {
  std::optional<Started> started;
  if (start) {
    MESH_CHECK(os::make_private_dir(paths.run()));
    MESH_CHECK(os::write_file_atomic(start->log, "", os::kPrivateFile));
    os::Fd log(::open(start->log.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    os::SpawnOptions options;
    options.argv = start->argv;
    options.out = os::Output::pipe();
    options.err = os::Output::to_fd(log.get());
    options.new_session = true;
    MESH_TRY(auto process, os::Process::spawn(options));
    started.emplace(std::move(process), interrupt);
  }
  const os::Deadline deadline(timeout);
  std::string missing = "\n  nothing runs yet";
  while (!interrupt.requested()) {
    MESH_TRY(const auto now, read_run_state(paths));
    const bool taken = now && is_taken_up(*now, number);
    if (taken) {
      missing = not_as_declared(*now);
    }
    if (taken && missing.empty()) {
      if (started) {
        started->let_go();
      }
      return *now;
    }
    if (taken && has_failed(*now)) {
      if (started) {
        started->let_go();
      }
      return fail(Code::Unavailable, "not everything is as declared:" + missing, kStaysUp);
    }
    const auto ended = started ? started->process().poll() : std::nullopt;
    if (ended) {
      return std::unexpected(error_of(started->process(), *ended, start->log));
    }
    if (!started && !now) {
      return fail(Code::Unavailable, "the mesh up that ran has ended", "start it again");
    }
    if (deadline.passed()) {
      if (started) {
        started->let_go();
      }
      return fail(Code::Timeout,
                  fmt::format("not everything is as declared after {} s:{}", timeout.count() / 1000,
                              missing),
                  kStaysUp);
    }
    pollfd wait{interrupt.descriptor(), POLLIN, 0};
    (void)::poll(&wait, 1, static_cast<int>(kTick.count()) / 4);
  }
  return fail(Code::Interrupted, "interrupted; what was started is ended");
}

namespace {

/// Ends the controller that runs, in order; false where none does.
Result<bool> end_controller(const inventory::StatePaths& paths, os::Milliseconds timeout) {
  MESH_TRY(const auto controller, running_controller(paths));
  if (!controller) {
    return end_leftovers(paths);
  }
  auto handle = os::ProcessHandle::open(controller->mark);
  if (!handle) {
    return false;  // it ended in this moment
  }
  if (const auto asked = handle->signal(SIGTERM); !asked && asked.error().code != Code::NotFound) {
    return std::unexpected(asked.error());
  }
  if (const auto gone = handle->wait_gone(timeout); !gone) {
    return fail(Code::Timeout,
                fmt::format("process {} has not ended after {} s", controller->mark.pid,
                            timeout.count() / 1000),
                "nats-server 2.15 takes about 11 ms for each consumer to stop; --timeout waits "
                "longer");
  }
  return true;
}

}  // namespace

Result<bool> down(const inventory::StatePaths& paths, bool volumes, os::Milliseconds timeout) {
  MESH_TRY(const bool ended, end_controller(paths, timeout));
  // What a `mesh up` that died left of the nodes; after one that ended in order nothing.
  MESH_TRY(const bool stopped, stop_local_hosts(paths, volumes));
  return ended || stopped;
}

}  // namespace mesh::controller
