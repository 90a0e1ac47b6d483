#include "controller/heal.h"

#include <csignal>

#include <fmt/format.h>

#include "broker/objects.h"
#include "bus/system.h"
#include "controller/apply.h"
#include "controller/bus_file.h"
#include "controller/observe.h"
#include "controller/recorded.h"
#include "controller/registry_access.h"
#include "controller/registry_link.h"
#include "controller/steps.h"
#include "controller/tls.h"
#include "os/process.h"
#include "plan/bus_plan.h"
#include "registry/collect.h"

namespace mesh::controller {

namespace {

constexpr std::chrono::seconds kEvery{30};
constexpr bus::Milliseconds kReload{120'000};

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

/// To a server whose certificate has ended (the machine slept for long, say) nobody can connect, to
/// have it read another: a signal does it. Nobody else's file is put in force by that.
Status Healer::revive_bus(const model::Mesh& mesh) {
  const auto now = edges_.clock.now();
  const auto end = certificate_end(state_.paths, Served::Bus);
  MESH_TRY(const auto server, bus::running_server(server_record_file(state_.paths)));
  if (!end || *end > now || !server) {
    return {};
  }
  MESH_TRY(const auto file, read_bus_file(state_, mesh, root_));
  MESH_CHECK(prolong_certificate(state_.paths, Served::Bus, now));
  if (!file.proved) {
    return {};
  }
  say_("the certificate of the bus had ended: renewed it");
  MESH_TRY(auto process, os::ProcessHandle::open(server->process));
  return process.signal(SIGHUP);
}

/// A mesh that nobody pushes must not end with its certificates. What else is not right about the
/// configuration is a push's.
Status Healer::renew_bus_certificate(const model::Mesh& mesh) {
  const auto now = edges_.clock.now();
  if (!link_->managed || !is_certificate_old(state_.paths, Served::Bus, now)) {
    return {};
  }
  MESH_TRY(const auto file, read_bus_file(state_, mesh, root_));
  MESH_CHECK(prolong_certificate(state_.paths, Served::Bus, now));
  if (!file.proved) {
    return {};  // nor is the configuration: the next push has both read
  }
  MESH_CHECK(bus::SystemAccount(link_->system).reload_all(false, kReload));
  say_("renewed the certificate of the bus");
  return remember_proved(state_, file.text);
}

/// Whoever watches the registry starts it again in a moment; nobody waits for that here.
Status Healer::renew_registry_certificate() {
  MESH_TRY(const bool renewed,
           prolong_certificate(state_.paths, Served::Registry, edges_.clock.now()));
  if (renewed) {
    say_("renewed the certificate of the registry, which is started again to show it");
    MESH_CHECK(registry::end_server(registry_paths(state_.paths)));
    MESH_CHECK(remember_registry_certificate(state_));
  }
  return {};
}

Status Healer::heal() {
  MESH_TRY(const auto recorded, recorded_mesh(state_.inventory));
  if (!recorded) {
    return {};
  }
  MESH_TRY(const auto lock, inventory::lock_state(state_.paths.root(), "controller", edges_.clock));
  if (!link_ || !link_->mesh.is_connected()) {
    MESH_CHECK(revive_bus(recorded->mesh));
    MESH_TRY(auto link, connect_bus(state_, recorded->mesh, root_, kBusTimeout));
    link_.emplace(std::move(link));
  }
  MESH_CHECK(renew_bus_certificate(recorded->mesh));
  MESH_CHECK(renew_registry_certificate());
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
