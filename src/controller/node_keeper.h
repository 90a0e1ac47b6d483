#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "bus/connection.h"
#include "controller/workspace.h"
#include "declaration/report.h"
#include "inventory/state.h"

namespace mesh::controller {

/// How long an invitation holds.
inline constexpr std::chrono::seconds kInvitationHolds{24 * 3600};

/// The credential that a node is given when it joins, until it was seen to have it; no principal
/// has such a name.
[[nodiscard]] std::string next_credential(const std::string& node);

/// Answers the machines that join: a key for a node that has none is accepted while its invitation
/// holds, and answered with its declaration and a password of its own; once the machine has
/// reported that, the password takes the place of the token's. Invitations that are over are
/// withdrawn. `state` is borrowed; its owner calls `tick`.
class NodeKeeper {
 public:
  NodeKeeper(inventory::State& state, Location location, Edges edges, Say say)
      : state_(state), location_(std::move(location)), edges_(edges), say_(std::move(say)) {}

  /// To be called often. What goes wrong is said, not returned.
  void tick();
  void disconnect();

 private:
  struct Ear;
  [[nodiscard]] Status listen();
  [[nodiscard]] Status handle(const declaration::Report& report);
  [[nodiscard]] Status accept(inventory::NodeRecord record, const declaration::Report& report);
  [[nodiscard]] Status note(const declaration::Report& report);
  [[nodiscard]] Status confirm(const std::string& node);
  [[nodiscard]] Status declare(const inventory::NodeRecord& record);
  [[nodiscard]] Status withdraw_old_invitations();
  void complain(const Status& done);

  inventory::State& state_;
  Location location_;
  Edges edges_;
  Say say_;
  std::shared_ptr<Ear> ear_;  // shared with the bus' thread
  os::Monotonic tried_{};
  os::Monotonic looked_{};
  std::set<std::string> refused_;  // incarnations that were told so, once
  std::string complained_;
};

}  // namespace mesh::controller
