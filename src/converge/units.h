#pragma once

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

/// What a node should run, what runs there, and the steps from the one to the other. Pure: the host
/// (host/) observes, judges time, and does the steps.
namespace mesh::converge {

/// One incarnation of a component: a container, or a supervised command. Two with the same
/// generation are the same in every respect; what differs in anything has another one.
struct UnitName {
  std::string module;
  std::string component;
  std::string generation;  // 16 hexadecimal digits over all that decides how it runs
  friend auto operator<=>(const UnitName&, const UnitName&) = default;
};

enum class UnitState {
  Created,  // made, and never started since
  Running,
  Exited,
};

/// How a unit does, by the host's judgement of its exit, its health check and the time.
enum class Standing {
  Pending,  // not known yet: it may still become good or bad
  Good,     // it runs, and was healthy once where it has a check; or it has done what it was for
  Bad,      // it did not get there within its deadline
};

struct Unit {
  UnitName name;
  UnitState state = UnitState::Created;
  Standing standing = Standing::Pending;
  /// Its restart policy wants it to be started (it exited), and its backoff is over.
  bool due = true;
  /// It ran, is unhealthy, and its policy wants it to be started anew.
  bool unhealthy = false;
  std::string because;  // why it is bad or unhealthy, in words
  friend bool operator==(const Unit&, const Unit&) = default;
};

struct WantedComponent {
  std::string name;
  std::string generation;
  std::string image;               // empty: a command
  std::vector<std::string> after;  // components of its module that are good before it starts
  bool excludes_itself = false;    // a former one must have stopped before it starts
  friend bool operator==(const WantedComponent&, const WantedComponent&) = default;
};

struct WantedModule {
  std::string name;
  std::vector<WantedComponent> components;
  friend bool operator==(const WantedModule&, const WantedModule&) = default;

  /// Over the components' generations: names this state of the module as a whole.
  [[nodiscard]] std::string generation() const;
};

/// What to reach. `former` is what a module last ran well with, to be put back where what is
/// declared does not come up; it stands here only where it differs from what is declared.
/// `rejected` says which state of a module was tried and put back.
struct Target {
  std::vector<WantedModule> modules;
  std::map<std::string, WantedModule> former;   // by module
  std::map<std::string, std::string> rejected;  // module -> generation
};

struct Observed {
  std::vector<Unit> units;       // all that carry our labels, of this mesh and node
  std::set<std::string> images;  // those that the engine has, of the ones that are wanted
  /// Images whose pull failed and is not to be tried again yet -> why.
  std::map<std::string, std::string> unpullable;
  /// Modules whose state was found good before: what is already noted is not noted again.
  std::map<std::string, std::string> accepted;  // module -> generation
};

enum class Action {
  Pull,    // `image`
  Create,  // `unit`, not started
  Start,
  Stop,    // with its grace
  Remove,  // what does not run
  Accept,  // note that `module` runs well in `generation`
  Reject,  // note that it does not: `because`
};

struct Step {
  Action action = Action::Pull;
  UnitName unit;           // of Create, Start, Stop, Remove
  std::string image;       // of Pull
  std::string module;      // whose step it is
  std::string generation;  // of Accept and Reject: of the module
  std::string because;     // why, in words
  friend bool operator==(const Step&, const Step&) = default;

  /// One line for people: `stop shop.server (0123…): its declaration changed`.
  [[nodiscard]] std::string text() const;
};

[[nodiscard]] const char* action_name(Action action);

/// The steps that can be taken now; after them, or as soon as something has changed, ask again.
/// Empty: all is as declared, or waits for a unit, a backoff or a pull. Steps of different modules
/// are independent of each other; those of one are done in their order, and where one fails the
/// rest of its module's are left.
[[nodiscard]] std::vector<Step> steps(const Target& target, const Observed& observed);

/// True where each module runs as it is declared (not as the former), with nothing left over.
[[nodiscard]] bool converged(const Target& target, const Observed& observed);
/// The same of one module.
[[nodiscard]] bool converged(const Target& target, const Observed& observed,
                             const std::string& module);

}  // namespace mesh::converge
