#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "controller/run_state.h"
#include "model/declarations.h"
#include "os/clock.h"
#include "os/line_pump.h"
#include "os/log_file.h"
#include "os/process.h"

namespace mesh::controller {

/// One component as a process: all that decides how it runs.
struct UnitSpec {
  std::string node;
  std::string module;
  std::string component;
  std::vector<std::string> run;
  os::Environment environment;  // the whole of it
  std::string directory;
  std::optional<os::Identity> identity;  // another user, where this process is root
  model::Restart restart = model::Restart::Always;
  os::Milliseconds grace{10'000};
  std::uint64_t log_size = 0;      // bytes
  std::vector<std::string> after;  // components of its module that must run first
  std::string secrets;             // a digest of the files that hold its secrets

  /// `node.module.component`.
  [[nodiscard]] std::string name() const;
  /// Two specs with the same digest need no restart between them.
  [[nodiscard]] std::string digest() const;
};

/// What `unit` prints, a line each, from the pump's thread.
using OnUnitLine = std::function<void(const std::string& unit, std::string_view line)>;

/// A supervised component: started, started again as its policy says (after 1 s, doubling to 30 s;
/// from 1 s again once it ran for a minute), its output kept in a bounded log. Its owner calls
/// `tick`; it has no thread of its own. `pump` and `clock` are borrowed.
class Unit {
 public:
  /// Errors: those of the log file.
  [[nodiscard]] static Result<std::unique_ptr<Unit>> make(UnitSpec spec, const std::string& log,
                                                          os::LinePump& pump,
                                                          const os::Clock& clock,
                                                          OnUnitLine on_line);

  /// Starts it when it is due (`may_start`: what it comes after runs) and notices its end.
  void tick(bool may_start);
  /// SIGTERM; it is not started again.
  void ask_to_stop();
  /// Of one that was asked to stop: its grace is over.
  void hurry();
  /// True when nothing of it runs any more. After its grace it is killed.
  [[nodiscard]] bool has_stopped();

  [[nodiscard]] const UnitSpec& spec() const { return spec_; }
  [[nodiscard]] const ComponentState& state() const { return state_; }
  /// It runs, or has done what it was for.
  [[nodiscard]] bool as_declared() const;
  /// Readable when its process ends; -1 where none runs.
  [[nodiscard]] int descriptor() const { return process_ ? process_->pidfd() : -1; }

 private:
  struct Sink;
  Unit(UnitSpec spec, std::shared_ptr<Sink> sink, os::LinePump& pump, const os::Clock& clock);
  void start();
  void ended(const os::ExitStatus& status);
  void back_off(std::string because);
  void set(const char* state, std::string because = {});

  UnitSpec spec_;
  std::shared_ptr<Sink> sink_;  // shared with the pump, which may outlive this unit by a line
  os::LinePump& pump_;
  const os::Clock& clock_;
  std::optional<os::Process> process_;
  ComponentState state_;
  os::Monotonic started_{};
  os::Monotonic due_{};
  os::Milliseconds delay_{0};
  std::optional<os::Monotonic> kill_at_;
  bool finished_ = false;  // its policy says that it is not started again
};

}  // namespace mesh::controller
