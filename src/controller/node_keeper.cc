#include "controller/node_keeper.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/text.h"
#include "bus/jetstream.h"
#include "controller/access.h"
#include "controller/node_declarations.h"
#include "controller/recorded.h"
#include "controller/registry_access.h"
#include "model/subjects.h"

namespace mesh::controller {

namespace {

constexpr std::chrono::seconds kConnectEvery{2};
constexpr std::chrono::seconds kInvitationsEvery{10};
constexpr os::Milliseconds kWithin{30'000};

std::int64_t seconds_of(os::WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

}  // namespace

/// The connection on which reports come, and those that have come.
struct NodeKeeper::Ear {
  std::mutex mutex;
  std::deque<bus::Message> heard;  // guarded
  std::optional<BusLink> link;
  bus::Subscription reports;  // ends before the link
};

std::string next_credential(const std::string& node) {
  return node + "/next";
}

void NodeKeeper::disconnect() {
  ear_.reset();
}

void NodeKeeper::complain(const Status& done) {
  if (done) {
    complained_.clear();
  } else if (done.error().code != Code::Conflict && done.error().message != complained_) {
    complained_ = done.error().message;
    say_("could not look after the nodes: " + done.error().message);
  }
}

Status NodeKeeper::listen() {
  MESH_TRY(const auto recorded, recorded_mesh(state_.inventory));
  if (!recorded) {
    tried_ = {};  // the first push may be a moment away
    return {};
  }
  auto ear = std::make_shared<Ear>();
  MESH_TRY(auto link, connect_bus(state_, recorded->mesh, location_.root, kBusTimeout));
  ear->link.emplace(std::move(link));
  MESH_TRY(ear->reports, ear->link->mesh.subscribe(model::kEveryReport, "",
                                                   [ear = ear.get()](bus::Message message) {
                                                     const std::lock_guard lock(ear->mutex);
                                                     ear->heard.push_back(std::move(message));
                                                   }));
  MESH_CHECK(ear->link->mesh.flush(kBusTimeout));
  ear_ = std::move(ear);
  return {};
}

void NodeKeeper::tick() {
  const auto now = edges_.clock.monotonic();
  if (!ear_ || !ear_->link->mesh.is_connected()) {
    if (now - tried_ < kConnectEvery) {
      return;
    }
    tried_ = now;
    ear_.reset();
    complain(listen());
  }
  std::deque<bus::Message> heard;
  if (ear_) {
    const std::lock_guard lock(ear_->mutex);
    heard.swap(ear_->heard);
  }
  for (const auto& message : heard) {
    const auto report = declaration::read_report(message.data);
    // The subject is what the bus lets that node say; what stands inside must be of it.
    const auto node = report ? model::NodeName::parse(report->node)
                             : Result<model::NodeName>(std::unexpected(report.error()));
    if (!node || message.subject != model::report_subject(*node) ||
        report->mesh != state_.identity.mesh_id) {
      continue;
    }
    complain(handle(*report));
  }
  if (now - looked_ >= kInvitationsEvery) {
    looked_ = now;
    complain(withdraw_old_invitations());
  }
}

Status NodeKeeper::handle(const declaration::Report& report) {
  MESH_TRY(auto record, state_.inventory.node(report.node));
  if (!report.join) {
    const bool same = record && record->key && base64(record->key->bytes()) == report.key;
    if (same && (report.number > record->declared || report.platform != record->platform)) {
      MESH_CHECK(note(report));
    }
    return same && report.number > 0 ? confirm(report.node) : Status();
  }
  if (!declaration::is_proved(*report.join, report.mesh, report.node, report.incarnation)) {
    return {};
  }
  if (record && record->key) {
    if (*record->key == report.join->key) {
      return declare(*record);
    }
    if (refused_.insert(report.incarnation).second) {
      say_(fmt::format("refused a second machine that joins as {}", report.node));
    }
    return declare(*record);  // which it cannot open: so it knows
  }
  const auto now = seconds_of(edges_.clock.now());
  if (!record || !record->expires || *record->expires <= now) {
    if (refused_.insert(report.incarnation).second) {
      say_(fmt::format("refused a machine that joins as {}: it is not invited", report.node));
    }
    return {};
  }
  return accept(*std::move(record), report);
}

Status NodeKeeper::accept(inventory::NodeRecord record, const declaration::Report& report) {
  MESH_TRY(const auto lock, inventory::lock_state(state_.paths.root(), "controller", edges_.clock));
  MESH_CHECK(renew_credential(state_, next_credential(record.name), edges_));
  record.key = report.join->key;
  record.joined = os::rfc3339(edges_.clock.now());
  record.expires.reset();
  record.platform = report.platform;
  MESH_CHECK(state_.inventory.put_node(record));
  say_(fmt::format("{} has joined ({})", record.name, printable(report.platform)));
  return declare(record);
}

/// What the latest push has for it, with its next password as long as that is not in force.
Status NodeKeeper::declare(const inventory::NodeRecord& record) {
  MESH_TRY(const auto recorded, recorded_mesh(state_.inventory));
  const auto* node = recorded ? recorded->mesh.node(record.name) : nullptr;
  if (node == nullptr || !ear_) {
    return {};
  }
  MESH_TRY(auto images, state_.inventory.images(recorded->push.number));
  MESH_TRY(auto composer,
           DeclarationComposer::make(state_, recorded->mesh, std::move(images), location_.root));
  auto next = state_.inventory.credential_secret(next_credential(record.name));
  if (!next && next.error().code != Code::NotFound) {
    return std::unexpected(std::move(next).error());
  }
  const auto number = record.declared > 0 ? record.declared : recorded->push.number;
  const auto password = next ? next->copy() : secrets::Secret();
  MESH_TRY(const auto envelope, composer.envelope(composer.compose(*node), number, *record.key,
                                                  password, edges_.random));
  bus::JetStream jetstream(ear_->link->mesh);
  MESH_CHECK(jetstream.store(model::declare_subject(node->name), envelope));
  return {};
}

/// Keeps what the node reports of itself. One that was told more than these records know (they are
/// of a backup that is older) runs on as it does; the next push declares it anew, under a number
/// beyond.
Status NodeKeeper::note(const declaration::Report& report) {
  MESH_TRY(const auto lock, inventory::lock_state(state_.paths.root(), "controller", edges_.clock));
  MESH_TRY(auto record, state_.inventory.node(report.node));
  if (!record) {
    return {};
  }
  record->platform = report.platform;
  const bool older = report.number > record->declared;  // not that of a push just recorded
  if (older) {
    record->declared = report.number;
    record->content.clear();
  }
  MESH_CHECK(state_.inventory.put_node(*record));
  if (!older) {
    return {};
  }
  say_(
      fmt::format("{} has declaration {}, which these records do not know (they are of an older "
                  "backup): `mesh push` declares anew",
                  report.node, report.number));
  return {};
}

/// The machine has its declaration, and so the password that came with it.
Status NodeKeeper::confirm(const std::string& node) {
  auto next = state_.inventory.credential_secret(next_credential(node));
  if (!next) {
    return next.error().code == Code::NotFound ? Status() : Status(std::unexpected(next.error()));
  }
  MESH_TRY(const auto lock, inventory::lock_state(state_.paths.root(), "controller", edges_.clock));
  MESH_CHECK(state_.inventory.rename_credential(next_credential(node), node));
  MESH_TRY(const auto recorded, recorded_mesh(state_.inventory));
  if (recorded) {
    MESH_CHECK(write_registry_access(state_, recorded->mesh));
  }
  TimedSteps steps(kWithin);
  return put_access_in_force(state_, location_.root, steps);
}

Status NodeKeeper::withdraw_old_invitations() {
  MESH_TRY(const auto nodes, state_.inventory.nodes());
  const auto now = seconds_of(edges_.clock.now());
  for (auto node : nodes) {
    if (node.key || !node.expires || *node.expires > now) {
      continue;
    }
    MESH_TRY(const auto lock,
             inventory::lock_state(state_.paths.root(), "controller", edges_.clock));
    MESH_CHECK(renew_credential(state_, node.name, edges_));
    node.expires.reset();
    MESH_CHECK(state_.inventory.put_node(node));
    TimedSteps steps(kWithin);
    MESH_CHECK(put_access_in_force(state_, location_.root, steps));
    say_(fmt::format("the invitation of {} has expired", node.name));
  }
  return {};
}

}  // namespace mesh::controller
