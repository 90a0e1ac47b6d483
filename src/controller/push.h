#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "controller/planning.h"

namespace mesh::controller {

struct PushOptions {
  std::optional<std::string> digest;  // do exactly this plan
  bool yes = false;
  bool adopt = false;
  std::string verb = "push";  // as history shows it
  std::string by;             // user@host
  /// What components run is this, and nothing is brought: for going back.
  std::optional<std::vector<inventory::PushImage>> images{};
  /// Brings what the components run, where something of it is missing (bring_images.h).
  std::function<Result<std::vector<inventory::PushImage>>(Steps&)> bring_images;
  AskForImages ask_for_images{};  // as PlanRequest has it
};

/// What a push came to.
struct PushReport {
  std::int64_t number = 0;
  std::string digest;
  bool reloaded = false;
  std::size_t machines = 0;  // nodes whose consumer is there
  std::size_t modules = 0;   // modules that consume something, with every consumer there
  std::uint64_t writes = 0;  // requests that changed streams or consumers
  std::vector<plan::Change> changes;
  std::vector<AfterRestart> after_restart;
  std::vector<std::string> notes;  // what was not proved, and the like
  /// Node -> the number of the declaration that it was told last: of those that have joined.
  std::map<std::string, std::int64_t> declared;
};

/// Makes the bus what the declarations say. The order: lock, read, plan; bring the images that are
/// missing (where one cannot be had, nothing else is done); intend (credentials and
/// number are kept); prove, replace and reload the configuration; raise streams and consumers;
/// prove new principals; take away what is left over; record. Where something fails before the
/// taking away, the old configuration is in force again. A push that was killed is continued by the
/// next. Errors: Conflict (the lock is held, the plan is another by now, `yes` is needed, another
/// mesh's bus), Unavailable, Unsupported, InvalidArgument (missing secrets).
[[nodiscard]] Result<PushReport> push(inventory::State& state, const Location& location,
                                      const model::Reading& reading, const PushOptions& options,
                                      Edges edges, Steps& steps);

/// `user@host` of this process.
[[nodiscard]] std::string operator_name();

}  // namespace mesh::controller
