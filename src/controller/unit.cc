#include "controller/unit.h"

#include <csignal>

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/digest.h"

namespace mesh::controller {

namespace {

constexpr os::Milliseconds kFirstDelay{1'000};
constexpr os::Milliseconds kLongestDelay{30'000};
// What ran this long is not failing at its start: the delays begin anew.
constexpr os::Milliseconds kHealthyAfter{60'000};
// What ended sooner was not running yet.
constexpr os::Milliseconds kRunsAfter{1'000};

std::string restart_text(model::Restart restart) {
  switch (restart) {
    case model::Restart::Always:
      return "always";
    case model::Restart::OnFailure:
      return "on-failure";
    case model::Restart::Never:
      return "never";
  }
  return {};
}

}  // namespace

std::string UnitSpec::name() const {
  return fmt::format("{}.{}.{}", node, module, component);
}

std::string UnitSpec::digest() const {
  const nlohmann::json document = {
      {"run", run},      {"environment", environment},           {"directory", directory},
      {"after", after},  {"restart", restart_text(restart)},     {"grace", grace.count()},
      {"log", log_size}, {"user", identity ? identity->uid : 0}, {"secrets", secrets}};
  return sha256_hex(document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

/// Where a unit's lines go. Written by the pump's thread alone.
struct Unit::Sink {
  std::string unit;
  os::LogFile log;
  OnUnitLine on_line;

  void take(std::string_view line) {
    // A full disk loses the line, not the component.
    (void)log.write(std::string(line) + "\n").has_value();
    if (on_line) {
      on_line(unit, line);
    }
  }
};

Unit::Unit(UnitSpec spec, std::shared_ptr<Sink> sink, os::LinePump& pump, const os::Clock& clock)
    : spec_(std::move(spec)), sink_(std::move(sink)), pump_(pump), clock_(clock) {
  state_.node = spec_.node;
  state_.module = spec_.module;
  state_.component = spec_.component;
  due_ = clock_.monotonic();
  set("starting");
}

Result<std::unique_ptr<Unit>> Unit::make(UnitSpec spec, const std::string& log, os::LinePump& pump,
                                         const os::Clock& clock, OnUnitLine on_line) {
  MESH_TRY(auto file, os::LogFile::open(log, std::max<std::uint64_t>(spec.log_size / 2, 4096)));
  auto sink = std::make_shared<Sink>(Sink{spec.name(), std::move(file), std::move(on_line)});
  return std::unique_ptr<Unit>(new Unit(std::move(spec), std::move(sink), pump, clock));
}

void Unit::set(const char* state, std::string because) {
  if (state_.state != state) {
    state_.since = os::rfc3339(clock_.now());
  }
  state_.state = state;
  state_.because = std::move(because);
}

void Unit::tick(bool may_start) {
  if (process_) {
    if (const auto status = process_->poll()) {
      ended(*status);
    } else if (state_.state == "starting" && clock_.monotonic() - started_ >= kRunsAfter) {
      set("running");
    }
  }
  const bool due = !process_ && !finished_ && !kill_at_ && clock_.monotonic() >= due_;
  if (due && may_start) {
    start();
  }
}

void Unit::start() {
  os::SpawnOptions options;
  options.argv = spec_.run;
  options.environment = spec_.environment;
  options.directory = spec_.directory;
  options.identity = spec_.identity;
  options.out = os::Output::pipe();
  options.err = os::Output::pipe();
  options.parent_death_signal = SIGKILL;
  auto process = os::Process::spawn(options);
  if (!process) {
    back_off(process.error().message);
    return;
  }
  started_ = clock_.monotonic();
  for (auto* end : {&process->out(), &process->err()}) {
    pump_.add(std::move(*end), [sink = sink_](std::string_view line) { sink->take(line); });
  }
  process_.emplace(std::move(*process));
  if (auto mark = os::mark_of(process_->pid())) {
    state_.process = std::move(*mark);
  }
  set("starting");
}

void Unit::ended(const os::ExitStatus& status) {
  // What it started and left behind goes with it.
  process_->signal_group(SIGKILL);
  process_.reset();
  state_.process.reset();
  if (kill_at_) {
    return;
  }
  const bool again = spec_.restart == model::Restart::Always ||
                     (spec_.restart == model::Restart::OnFailure && !status.ok());
  if (again) {
    back_off("ended with " + status.text());
    return;
  }
  finished_ = true;
  set(status.ok() ? "stopped" : "failed", "ended with " + status.text());
}

void Unit::back_off(std::string because) {
  const auto now = clock_.monotonic();
  const bool ran_well = started_ != os::Monotonic{} && now - started_ >= kHealthyAfter;
  delay_ = ran_well || delay_.count() == 0 ? kFirstDelay : std::min(delay_ * 2, kLongestDelay);
  due_ = now + delay_;
  ++state_.restarts;
  set("backoff", fmt::format("{}; starts again after {} s", because, delay_.count() / 1000));
}

void Unit::ask_to_stop() {
  if (kill_at_) {
    return;
  }
  kill_at_ = clock_.monotonic() + spec_.grace;
  if (process_) {
    process_->signal_group(SIGTERM);
  }
}

void Unit::hurry() {
  if (kill_at_) {
    kill_at_ = clock_.monotonic();
  }
}

bool Unit::has_stopped() {
  tick(/*may_start=*/false);
  if (process_ && kill_at_ && clock_.monotonic() >= *kill_at_) {
    process_->stop(os::Milliseconds{0});
    process_.reset();
    state_.process.reset();
  }
  if (process_) {
    return false;
  }
  set("stopped", "asked to stop");
  return true;
}

bool Unit::as_declared() const {
  return state_.state == "running" || (finished_ && state_.state == "stopped");
}

}  // namespace mesh::controller
