#include "controller/up.h"

#include <fcntl.h>
#include <poll.h>

#include <unistd.h>

#include <csignal>

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "bus/server.h"
#include "controller/controller.h"
#include "controller/environment.h"
#include "controller/recorded.h"
#include "controller/registry_link.h"
#include "os/files.h"
#include "os/lock.h"

namespace mesh::controller {

namespace {

constexpr os::Milliseconds kTick{200};
// nats-server may take four minutes to stop.
constexpr os::Milliseconds kEndWithin{300'000};
constexpr std::size_t kMostError = 64U << 10U;

/// Takes up what other processes pushed, and secrets that they set.
class Follower {
 public:
  Follower(inventory::State& state, Supervisor& supervisor, const Say& say)
      : state_(state), supervisor_(supervisor), say_(say) {}

  Status follow() {
    MESH_TRY(const auto latest, state_.inventory.latest());
    MESH_TRY(auto secrets, state_.inventory.secrets_mark());
    const bool pushed = latest && latest->number != supervisor_.number();
    if (!latest || (!pushed && secrets == secrets_)) {
      return {};
    }
    secrets_ = std::move(secrets);
    MESH_TRY(const auto recorded, recorded_mesh(state_.inventory));
    if (!recorded) {
      return {};
    }
    if (pushed) {
      say_(fmt::format("taking up push {}", recorded->push.number));
    } else if (const auto all = check_secrets(state_.inventory, recorded->mesh); !all) {
      return within("what runs keeps the secrets that it has", all.error());
    }
    return supervisor_.apply(recorded->mesh, recorded->push.number);
  }

 private:
  inventory::State& state_;
  Supervisor& supervisor_;
  const Say& say_;
  std::string secrets_;  // the mark of those that were taken up last
};

/// Commands run as they are; images take a host, which `mesh up` does not start yet.
Status refuse_images(const model::Mesh& mesh) {
  for (const auto& module : mesh.modules) {
    for (const auto& component : module.file->components) {
      if (!module.on.empty() && (component.build || component.image)) {
        return fail(Code::Unsupported,
                    fmt::format("component {} of module {} is an image, and `mesh up` has no host "
                                "that would run it",
                                component.name.text(), module.name.text()),
                    "`mesh controller` and `mesh push` build it all the same; run it as a command "
                    "(`run`), or start it yourself with `mesh env`",
                    component.place);
      }
    }
  }
  return {};
}

Status push_now(inventory::State& state, const Location& location, const model::Reading& reading,
                const UpOptions& options, Edges edges, os::Interrupt& interrupt) {
  const auto& say = options.say;
  OperatorSteps steps(interrupt, options.push_timeout, say);
  PushOptions push_options;
  push_options.verb = "up";
  push_options.yes = options.yes;
  push_options.by = operator_name();
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

std::string not_running(const RunState& state) {
  std::string out;
  for (const auto& one : state.components) {
    if (one.state != "running" && one.state != "stopped") {
      out += fmt::format("\n  {}.{}.{}: {} {}", one.node, one.module, one.component, one.state,
                         one.because);
    }
  }
  return out;
}

bool is_up(const RunState& state, std::int64_t number) {
  return state.number >= std::max<std::int64_t>(number, 1) && not_running(state).empty();
}

/// Ends what a `mesh up` or `mesh controller` that died left running; false where there is nothing.
Result<bool> end_leftovers(const inventory::StatePaths& paths) {
  if (const auto holder = os::Lock::holder(controller_lock_file(paths))) {
    return fail(Code::Conflict,
                fmt::format("mesh {} (pid {}) is starting or ending", holder->verb, holder->pid),
                "try again in a moment");
  }
  MESH_TRY(const int components, kill_leftovers(paths));
  const int servers =
      bus::end_servers_of(paths.bus_config()) + registry::end_servers_of(registry_paths(paths));
  return components + servers > 0;
}

}  // namespace

Status run_up(inventory::State& state, const Location& location, const model::Reading& reading,
              const UpOptions& options, Edges edges, os::Interrupt& interrupt) {
  MESH_CHECK(refuse_images(*reading.mesh));
  const auto& say = options.say;
  interrupt.finish_in_order();  // nothing that is started here may be left behind
  MESH_TRY(const auto controller, Controller::start(state, location, *reading.mesh, edges, say));
  MESH_CHECK(push_now(state, location, reading, options, edges, interrupt));
  MESH_TRY(const auto supervisor, Supervisor::start(state, location, edges, options.on_line, say));
  Follower follower(state, *supervisor, say);
  bool all_up = false;
  while (!interrupt.requested()) {
    if (const auto followed = follower.follow(); !followed) {
      say(followed.error().message);
    }
    controller->tick();
    supervisor->tick();
    if (!all_up && supervisor->as_declared()) {
      all_up = true;
      say("all is as declared; Ctrl-C ends it");
    }
    supervisor->wait(interrupt.descriptor(), kTick);
  }
  say("ending the modules; a second Ctrl-C kills those that do not end");
  const auto modules = supervisor->stop(interrupt);
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
    if (now && is_up(*now, number)) {
      if (started) {
        started->let_go();
      }
      return *now;
    }
    if (now) {
      missing = not_running(*now);
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
                  "it stays up: see `mesh status`; `mesh down` ends it");
    }
    pollfd wait{interrupt.descriptor(), POLLIN, 0};
    (void)::poll(&wait, 1, static_cast<int>(kTick.count()) / 4);
  }
  return fail(Code::Interrupted, "interrupted; what was started is ended");
}

Result<bool> down(const inventory::StatePaths& paths, os::Milliseconds timeout) {
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

}  // namespace mesh::controller
