#pragma once

#include <poll.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "converge/units.h"
#include "declaration/report.h"
#include "host/allowance.h"
#include "host/driver.h"
#include "host/judge.h"
#include "host/mailbox.h"
#include "host/prober.h"
#include "host/relay.h"
#include "host/specs.h"
#include "host/store.h"
#include "host/workers.h"
#include "os/clock.h"

namespace mesh::host {

/// What runs things on this machine; either may be missing.
struct Drivers {
  std::unique_ptr<Driver> containers;
  std::unique_ptr<Driver> commands;
};

struct MachineOptions {
  Premises place;
  Allowance allowance;
  PullAccess pull;  // how the mesh's registry is asked
  std::function<void(std::string_view)> say;
};

struct StopAll {
  bool volumes = false;  // named volumes go as well, with all that is in them
  bool now = false;      // no grace
};

/// Brings the machine to what the store declares, and keeps it there. Everything but the steps
/// themselves happens on its owner's thread; steps run on a thread for each module and are told
/// back through the mailbox. `store`, `mailbox` and `clock` are borrowed.
class Machine {
 public:
  Machine(MachineOptions options, Drivers drivers, Store& store, Mailbox& mailbox,
          const os::Clock& clock);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine();

  /// The store has another declaration.
  void declared();
  /// Looks at what is there, judges it and begins the steps that are due. To be called when
  /// something happened, and by `next` at the latest.
  void turn();
  [[nodiscard]] os::Monotonic next() const;
  /// What `turn` waits for.
  void add_to(std::vector<pollfd>& polled) const;
  /// Nothing is under way.
  [[nodiscard]] bool idle() const { return workers_.idle(); }

  /// How each declared module stands; whether all of it is as declared.
  [[nodiscard]] std::vector<declaration::ModuleReport> modules() const;
  [[nodiscard]] bool converged() const { return converged_; }
  /// What keeps the host from seeing or doing anything at all; empty: nothing.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  /// The container engine, as it was last seen; empty: none.
  [[nodiscard]] const std::string& engine() const { return engine_; }

  [[nodiscard]] Result<LogPiece> logs(const std::string& module, const std::string& component,
                                      const LogCursor& cursor, std::size_t most);
  /// Stops and removes everything of ours, whatever is declared.
  Status stop_all(StopAll how);

 private:
  struct Pull {
    std::string why;
    os::Monotonic again{};
    os::Milliseconds delay{0};
  };
  [[nodiscard]] Driver* driver_of(const ReadyUnit& unit) const;
  [[nodiscard]] Driver* holder_of(const converge::UnitName& unit) const;
  [[nodiscard]] const ReadyUnit* ready(const converge::UnitName& name) const;
  [[nodiscard]] bool wants_containers() const;
  void prepare();
  void prepare_module(const Opened& opened, const declaration::Module& module);
  [[nodiscard]] bool must_look(os::Monotonic now) const;
  [[nodiscard]] os::Monotonic look_again() const;
  bool look();
  bool look_at(Driver& driver, const char* what, bool needed);
  void look_for_images();
  void find_bridge();
  [[nodiscard]] bool waits_for_bridge(const ReadyUnit& unit) const;
  void probe();
  [[nodiscard]] converge::Target target() const;
  [[nodiscard]] converge::Observed observed() const;
  void take(const std::vector<converge::Step>& steps);
  void note(const converge::Step& step);
  void begin(const std::string& module, std::vector<converge::Step> steps);
  [[nodiscard]] Status do_step(const converge::Step& step, const ReadyUnit* unit, Driver& driver);
  void step_done(const converge::Step& step, const Status& done);
  void pull_done(const std::string& image, const Status& done);
  void stop_units(bool now);
  void say(const std::string& line) const;
  [[nodiscard]] bool has_failed(const std::string& name, const ReadyModule& module) const;
  [[nodiscard]] declaration::ComponentReport report_of(const std::string& module,
                                                       const converge::WantedComponent& one) const;

  MachineOptions options_;
  Drivers drivers_;
  Store& store_;
  Mailbox& mailbox_;
  const os::Clock& clock_;
  Judge judge_;
  Prober prober_;
  std::map<std::string, ReadyModule> declared_;  // by module
  std::map<std::string, ReadyModule> former_;
  std::map<std::string, std::string> blocked_;  // module -> why nothing of it may run
  std::map<converge::UnitName, std::pair<Found, Driver*>> found_;
  std::set<std::string> images_;
  std::map<std::string, Pull> pulls_;               // that failed
  std::map<std::string, std::string> failed_step_;  // module -> why its last step failed
  std::map<std::string, os::Monotonic> retry_;      // module -> not before
  std::map<converge::UnitName, std::vector<std::string>> last_lines_;
  std::string trouble_;
  std::set<std::string> unseen_;  // drivers that could not be asked
  bool converged_ = false;
  bool stopping_all_ = false;
  std::unique_ptr<Relay> relay_;
  os::Monotonic looked_{};  // when; nothing: it is to be looked at once more
  std::string engine_;
  bool seen_ = false;  // all of it could be seen then
  Workers workers_;    // last: its threads use the above
};

}  // namespace mesh::host
