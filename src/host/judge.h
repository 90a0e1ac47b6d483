#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "converge/units.h"
#include "declaration/component.h"
#include "host/driver.h"
#include "os/clock.h"

namespace mesh::host {

/// How a unit stands, for people: `running`, `starting`, `unhealthy`, `backoff`, `failed`,
/// `stopped`.
struct UnitStanding {
  std::string state;
  std::string since;  // RFC 3339
  std::string because;
  int restarts = 0;
};

/// Judges units by what a driver found, their health checks and the time: whether they are good,
/// when one that ended is due again, when one is unhealthy. No I/O; the time is handed in.
///
/// A component without a check is good once it has run for 2 s; one with a check once that
/// succeeded. It is bad after three ends in a row that came before that, or when its check has not
/// succeeded within `start` and its retries. One that ended starts again after 1 s, doubling to
/// 30 s, and from 1 s again once it has run for a minute.
class Judge {
 public:
  /// Takes in what was found now. `component` is what the unit was made of, nullptr where that is
  /// not known any more. `trusted`: it was seen to be good before this process began.
  void see(const Found& found, const declaration::Component* component, bool trusted,
           os::Monotonic now, os::WallTime wall);
  /// Forgets units that are not among `names`.
  void keep_only(const std::vector<converge::UnitName>& names);
  /// What a health check said; `because` where it failed.
  void checked(const converge::UnitName& name, bool healthy, const std::string& because,
               os::Monotonic now, os::WallTime wall);
  /// It was just started, or could not be: `because` says why not.
  void started(const converge::UnitName& name, os::WallTime wall);
  void failed_to_start(const converge::UnitName& name, const std::string& because,
                       os::Monotonic now, os::WallTime wall);
  /// The host itself stops it: its end is no failure.
  void stopping(const converge::UnitName& name);

  /// As the pure function takes it.
  [[nodiscard]] converge::Unit unit(const converge::UnitName& name, os::Monotonic now) const;
  [[nodiscard]] UnitStanding standing(const converge::UnitName& name) const;
  /// Which units' checks are due now; each is noted as begun.
  [[nodiscard]] std::vector<converge::UnitName> due_checks(os::Monotonic now);
  /// Judges by the time alone what no event told of.
  void tick(os::Monotonic now, os::WallTime wall);
  /// When something may change by itself: a backoff ends, a check is due, a deadline passes.
  [[nodiscard]] std::optional<os::Monotonic> next() const;

 private:
  struct Watch {
    declaration::Component component;
    bool known = false;  // whether `component` is
    converge::UnitState state = converge::UnitState::Created;
    os::Monotonic running_since{};
    bool good = false;  // was, since it was last started
    bool ever_good = false;
    bool finished = false;
    bool bad = false;
    bool unhealthy = false;
    bool stopping = false;
    int failures = 0;  // of the check, in a row
    int ends = 0;      // in a row before it was good
    int restarts = 0;
    std::string started;  // by the driver: tells one run from the next
    os::Milliseconds delay{0};
    std::optional<os::Monotonic> due;         // to be started again
    std::optional<os::Monotonic> next_check;  // nothing while one is under way
    UnitStanding shown;
  };
  void run_began(Watch& watch, bool trusted, os::Monotonic now, os::WallTime wall);
  void ended(Watch& watch, const Found& found, os::Monotonic now, os::WallTime wall);
  void back_off(Watch& watch, const std::string& because, os::Monotonic now, os::WallTime wall);
  void pass_time(Watch& watch, os::Monotonic now, os::WallTime wall) const;
  void become_good(Watch& watch, os::WallTime wall) const;
  static void show(Watch& watch, const char* state, const std::string& because, os::WallTime wall);
  [[nodiscard]] static os::Monotonic deadline_of(const Watch& watch);

  std::map<converge::UnitName, Watch> watches_;
};

}  // namespace mesh::host
