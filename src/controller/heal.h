#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "controller/bus_link.h"
#include "controller/workspace.h"
#include "inventory/state.h"
#include "os/clock.h"

namespace mesh::controller {

/// Makes again what the latest push raised and somebody took away. It adds and never changes or
/// removes: those are a push's, which is planned and seen. All that is given is borrowed.
class Healer {
 public:
  Healer(inventory::State& state, std::string root, Edges edges, Say say)
      : state_(state), root_(std::move(root)), edges_(edges), say_(std::move(say)) {}

  /// Does something every 30 s; says what was made again, and once what went wrong.
  void tick();
  void disconnect() { link_.reset(); }

 private:
  [[nodiscard]] Status heal();
  [[nodiscard]] Status revive_bus(const model::Mesh& mesh);
  [[nodiscard]] Status renew_bus_certificate(const model::Mesh& mesh);
  [[nodiscard]] Status renew_registry_certificate();
  void complain(const Error& error);

  inventory::State& state_;
  std::string root_;
  Edges edges_;
  Say say_;
  std::optional<BusLink> link_;
  std::optional<os::Monotonic> last_;
  std::string complained_;
  std::map<std::string, std::uint64_t> floors_;  // where each consumer stood when last seen
};

}  // namespace mesh::controller
