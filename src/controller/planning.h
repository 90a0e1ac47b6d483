#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "broker/objects.h"
#include "controller/bus_config.h"
#include "controller/bus_file.h"
#include "controller/bus_link.h"
#include "controller/image_plan.h"
#include "controller/images_gone.h"
#include "controller/steps.h"
#include "controller/workspace.h"
#include "inventory/state.h"
#include "model/read.h"
#include "plan/bus_plan.h"
#include "plan/change.h"

namespace mesh::controller {

/// What is planned, and from what. `reading` has a mesh, and outlives the plan.
struct PlanRequest {
  const Location& location;
  const model::Reading& reading;
  bool adopt = false;
  os::WallTime now;
  const std::vector<inventory::PushImage>* images = nullptr;  // pinned: nothing is looked up
  AskForImages ask_for_images{};  // empty: what the records say of the registry is believed

  [[nodiscard]] const model::Mesh& mesh() const { return *reading.mesh; }
};

/// A setting that the running managed server cannot change.
struct AfterRestart {
  std::string name;  // as in its configuration: `listen`
  std::string now;   // what it runs with
  std::string then;  // what is declared, in force once it is started again

  /// A line for people, with what to do.
  [[nodiscard]] std::string text() const;
};

/// A plan, and all that was read to make it.
struct Plan {
  std::vector<plan::Change> changes;  // empty: all is as declared
  std::string digest;
  std::int64_t number = 0;  // of the push that would do it; of the latest one where it is empty
  BusShape shape;
  broker::Wanted wanted;
  broker::ServerSettings settings;
  inventory::Hashes hashes;
  BusFile file;
  plan::Observed observed;
  std::optional<inventory::Push> unfinished;
  bool new_accounts = false;
  std::vector<AfterRestart> after_restart;  // in the order of the configuration
  ImagePlan images;
  std::vector<std::string> notes;  // what could not be looked at

  /// Why the push would ask first: a line for each change that does. Empty: it would not.
  [[nodiscard]] std::vector<std::string> needs_yes() const;
};

/// What a push would do now; changes nothing. Errors: those of the bus, Conflict (another mesh's
/// bus, or names of ours that Mesh did not make).
[[nodiscard]] Result<Plan> make_plan(inventory::State& state, const PlanRequest& request,
                                     BusLink& link, Steps& steps);

/// The settings of the configuration for the servers that run, as a push would write it: what a
/// running managed server cannot change stays, and is said in `later` where it is not nullptr.
[[nodiscard]] broker::ServerSettings settings_for(const inventory::StatePaths& paths,
                                                  const model::Mesh& mesh, const BusLink& link,
                                                  const BusFile& file,
                                                  std::vector<AfterRestart>* later);

/// Refuses what a push can never do: more replicas than the one managed server has. Errors:
/// Unsupported, with the place. Secrets that are not set: InvalidArgument.
[[nodiscard]] Status check_pushable(inventory::State& state, const model::Mesh& mesh);

/// A sentence for each component that is a command and declares what this version reads and does
/// not hold it to: its limits and its health check.
[[nodiscard]] std::vector<std::string> not_held_to(const model::Mesh& mesh);

/// Consumers' floors that a push keeps until it is recorded (plan::Hints::floors).
[[nodiscard]] Status keep_floors(inventory::State& state,
                                 const std::map<std::string, std::uint64_t>& floors);

}  // namespace mesh::controller
