#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "controller/homes.h"
#include "controller/unit.h"
#include "controller/workspace.h"
#include "os/interrupt.h"

namespace mesh::controller {

/// The `run` components of all nodes, as processes of this machine. All that is given is borrowed.
class Supervisor {
 public:
  /// `on_line` is called from another thread, with what the components print.
  [[nodiscard]] static Result<std::unique_ptr<Supervisor>> start(inventory::State& state,
                                                                 const Location& location,
                                                                 Edges edges, OnUnitLine on_line,
                                                                 Say say);

  /// From now on what `mesh` declares is to run, as push `number` accepted it: what is new starts,
  /// what is gone stops, what changed is stopped and started, and nothing else is touched. Errors:
  /// those of the files of an instance; then that component is not started, and the others are.
  [[nodiscard]] Status apply(const model::Mesh& mesh, std::int64_t number);

  /// To be called often: starts what is due, notices what ended, and writes run/up.json when
  /// something changed.
  void tick();
  /// Waits until a component ends, at most `timeout`; or until `descriptor` is readable.
  void wait(int descriptor, os::Milliseconds timeout) const;

  /// Asks all to stop, waits for each one's grace, kills what is left, and takes away the homes.
  /// Where `interrupt` insists the graces are over.
  Status stop(const os::Interrupt& interrupt);

  [[nodiscard]] std::int64_t number() const { return number_; }
  [[nodiscard]] std::vector<ComponentState> states() const;
  /// True where each component runs, or has done what it was for.
  [[nodiscard]] bool as_declared() const;

 private:
  Supervisor(inventory::State& state, Homes homes, Edges edges, OnUnitLine on_line, Say say,
             std::unique_ptr<os::LinePump> pump);
  Status take(const model::Mesh& mesh, std::map<std::string, UnitSpec>& wanted);
  Status add(UnitSpec spec);
  [[nodiscard]] bool may_start(const Unit& unit) const;
  void stop_units(const std::vector<std::string>& names, const os::Interrupt* interrupt = nullptr);
  void say_restarts(const std::map<std::string, UnitSpec>& wanted) const;
  void write_state();
  void say_changes(const std::vector<ComponentState>& now) const;

  inventory::State& state_;
  Homes homes_;
  Edges edges_;
  OnUnitLine on_line_;
  Say say_;
  std::unique_ptr<os::LinePump> pump_;  // outlives the units
  std::map<std::string, std::unique_ptr<Unit>> units_;
  std::vector<ComponentState> broken_;  // could not be prepared
  std::vector<ComponentState> written_;
  std::int64_t number_ = 0;
  std::int64_t written_number_ = -1;
  std::string since_;
};

}  // namespace mesh::controller
