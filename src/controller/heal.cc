#include "controller/heal.h"

#include <fmt/format.h>

#include "broker/objects.h"
#include "controller/apply.h"
#include "controller/observe.h"
#include "controller/recorded.h"
#include "controller/steps.h"
#include "plan/bus_plan.h"

namespace mesh::controller {

namespace {

constexpr std::chrono::seconds kEvery{30};

/// Nobody interrupts a healer: what it does is short.
class Quiet : public Steps {
 public:
  Status next(std::string_view /*what*/) override { return {}; }
  void say(std::string_view /*line*/) override {}
};

}  // namespace

void Healer::tick() {
  const auto now = edges_.clock.monotonic();
  if (last_ && now - *last_ < kEvery) {
    return;
  }
  last_ = now;
  if (auto done = heal(); done) {
    complained_.clear();
  } else {
    link_.reset();
    complain(done.error());
  }
}

void Healer::complain(const Error& error) {
  if (error.code != Code::Conflict && error.message != complained_) {  // Conflict: a push works
    complained_ = error.message;
    say_("could not look after the bus: " + error.message);
  }
}

Status Healer::heal() {
  MESH_TRY(const auto recorded, recorded_mesh(state_.inventory));
  if (!recorded) {
    return {};
  }
  MESH_TRY(const auto lock, inventory::lock_state(state_.paths.root(), "controller", edges_.clock));
  if (!link_ || !link_->mesh.is_connected()) {
    MESH_TRY(auto link, connect_bus(state_, recorded->mesh, root_, kBusTimeout));
    link_.emplace(std::move(link));
  }
  Quiet steps;
  MESH_TRY(const auto observed, observe(link_->mesh, steps));
  plan::Hints hints;
  hints.mesh_id = state_.identity.mesh_id;
  hints.now = std::chrono::floor<std::chrono::seconds>(edges_.clock.now());
  hints.floors = floors_;
  const auto wanted = broker::wanted(recorded->mesh, state_.identity.mesh_id);
  MESH_TRY(auto changes, plan::bus_plan(wanted, observed, hints));
  std::erase_if(changes, [](const auto& change) { return change.action != plan::Action::Create; });
  std::uint64_t writes = 0;
  MESH_CHECK(raise(link_->mesh, changes, steps, writes));
  for (const auto& change : changes) {
    say_(fmt::format("made {} {} again: it was gone from the bus", plan::kind_name(change.kind),
                     change.name));
  }
  for (const auto& consumer : observed.consumers) {
    floors_[consumer.stream + "." + consumer.name] = consumer.ack_floor.stream;
  }
  return {};
}

}  // namespace mesh::controller
