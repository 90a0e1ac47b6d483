#include "controller/standing.h"

#include <algorithm>
#include <set>

#include "bus/jetstream.h"
#include "controller/observe.h"
#include "model/subjects.h"
#include "plan/config_diff.h"
#include "plan/observed.h"

namespace mesh::controller {

namespace {

using nlohmann::json;

/// When the first message at or behind `sequence` was stored that matches one of the filters.
std::optional<std::string> first_time(bus::Connection& mesh, const std::string& stream,
                                      std::uint64_t sequence,
                                      const std::vector<std::string>& filters, const Steps& steps) {
  std::optional<std::string> oldest;
  for (const auto& filter : filters) {
    const json question = {{"seq", sequence}, {"next_by_subj", filter}};
    const auto answer = mesh.request("$JS.API.STREAM.MSG.GET." + stream, question.dump(),
                                     at_most(kBusTimeout, steps));
    const auto found =
        answer ? bus::read_api_answer(*answer) : Result<json>(std::unexpected(answer.error()));
    if (!found || !found->contains("message")) {
      continue;
    }
    auto time = (*found)["message"].value("time", "");
    if (!time.empty() && (!oldest || time < *oldest)) {
      oldest = std::move(time);
    }
  }
  return oldest;
}

/// Seconds until a message of that time is older than the stream keeps.
std::optional<std::int64_t> lost_in(const std::optional<std::string>& oldest,
                                    const plan::ObservedStream* stream, os::WallTime now) {
  const auto age = stream != nullptr ? stream->config.value("max_age", std::int64_t{0}) : 0;
  const auto time = oldest ? os::parse_rfc3339(*oldest) : os::parse_rfc3339("");
  if (age <= 0 || !time) {
    return std::nullopt;
  }
  const auto left = *time + std::chrono::milliseconds(age / 1'000'000) - now;
  return std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::seconds>(left).count());
}

ConsumerStanding consumer_standing(bus::Connection& mesh, const plan::Observed& observed,
                                   const plan::ObservedConsumer& consumer, os::WallTime now,
                                   const Steps& steps) {
  ConsumerStanding out;
  out.name = consumer.stream + "." + consumer.name;
  out.waiting = consumer.waiting;
  out.unacknowledged = consumer.unacknowledged;
  const auto most = consumer.config.value("max_ack_pending", std::int64_t{0});
  out.stalled = most > 0 && consumer.unacknowledged >= static_cast<std::uint64_t>(most);
  if (consumer.waiting + consumer.unacknowledged > 0) {
    auto filters = plan::filters_of(consumer.config);
    if (filters.empty()) {
      filters.emplace_back(">");
    }
    out.oldest = first_time(mesh, consumer.stream, consumer.ack_floor.stream + 1, filters, steps);
    out.lost_in = lost_in(out.oldest, observed.stream(consumer.stream), now);
  }
  return out;
}

/// Instances that hold a seat: module names with their nodes.
std::vector<std::string> holders_of(const model::Mesh& mesh, const model::SeatName& seat,
                                    const std::set<std::string>& connected) {
  std::vector<std::string> out;
  for (const auto& module : mesh.modules) {
    const bool holds = std::ranges::any_of(module.file->holds,
                                           [&](const auto& held) { return held.value == seat; });
    for (const auto& node : holds ? module.on : std::vector<model::NodeName>()) {
      auto name = model::InstanceName{node, module.name}.text();
      if (connected.contains(name)) {
        out.push_back(std::move(name));
      }
    }
  }
  std::ranges::sort(out);
  return out;
}

void add_seats(Standing& standing, BusLink& link, const model::Mesh& mesh,
               const plan::Observed& observed, const std::set<std::string>& connected,
               const Steps& steps) {
  for (const auto& seat : mesh.seats) {
    SeatStanding out;
    out.name = seat.name.text();
    out.holders = holders_of(mesh, seat.name, connected);
    const auto name = model::seat_stream(seat.name);
    if (const auto* stream = observed.stream(name); stream != nullptr) {
      out.waiting = stream->messages;
      if (stream->messages > 0) {
        out.oldest = first_time(link.mesh, name, stream->first, {">"}, steps);
      }
    }
    standing.seats.push_back(std::move(out));
  }
}

void add_reported(Standing& standing) {
  for (const auto& node : standing.nodes) {
    for (const auto& module :
         node.report ? node.report->modules : std::vector<declaration::ModuleReport>()) {
      for (const auto& one : module.components) {
        const bool why = one.because.empty() && !module.converged;
        standing.reported.push_back({node.name, module.name, one.name,
                                     node.state == "silent" ? "unknown" : one.state, one.restarts,
                                     one.since, why ? module.because : one.because, one.digest});
      }
    }
  }
}

Status ask(Standing& standing, inventory::State& state, const model::Mesh& mesh,
           const std::string& root, os::WallTime now, Steps& steps) {
  MESH_TRY(auto link, connect_bus(state, mesh, root, at_most(kBusTimeout, steps)));
  MESH_TRY(const auto observed, observe(link.mesh, steps));
  MESH_TRY(const auto connected, connected_users(link.system, steps));
  MESH_TRY(const auto account, bus::JetStream(link.mesh, at_most(kBusTimeout, steps)).account());
  standing.bus.running = true;
  standing.bus.urls = link.urls;
  standing.bus.streams = account.streams;
  standing.bus.consumers = account.consumers;
  standing.bus.storage = account.storage;
  standing.bus.requests = account.requests;
  for (const auto& server : link.servers) {
    standing.bus.versions.push_back(server.version);
  }
  for (const auto& consumer : observed.consumers) {
    if (plan::mesh_id_of(consumer.config) == state.identity.mesh_id) {
      standing.consumers.push_back(consumer_standing(link.mesh, observed, consumer, now, steps));
    }
  }
  MESH_TRY(standing.nodes, node_standings(state, mesh, link.mesh, now));
  add_reported(standing);
  add_seats(standing, link, mesh, observed, connected, steps);
  if (const auto* parked = observed.stream(model::kParked); parked != nullptr) {
    standing.parked = parked->messages;
  }
  return {};
}

}  // namespace

const NodeStanding* Standing::joined(const std::string& node) const {
  const auto found = std::ranges::find(nodes, node, &NodeStanding::name);
  return found == nodes.end() || found->state == "unknown" ? nullptr : &*found;
}

const ComponentState* Standing::find(const std::string& node, const std::string& module,
                                     const std::string& component) const {
  const auto found = std::ranges::find_if(reported, [&](const auto& one) {
    return one.node == node && one.module == module && one.component == component;
  });
  return found == reported.end() ? nullptr : &*found;
}

bool as_declared(const ComponentState& state, const model::Component& component) {
  return state.state == "running" ||
         (state.state == "stopped" && component.restart != model::Restart::Always);
}

Result<Standing> standing(inventory::State& state, const model::Mesh& mesh, const std::string& root,
                          os::WallTime now, os::Milliseconds timeout) {
  Standing out;
  TimedSteps steps(timeout);
  MESH_TRY(out.registry, registry_standing(state, mesh, root));
  if (auto asked = ask(out, state, mesh, root, now, steps); !asked) {
    out.bus.failure = std::move(asked).error();
  }
  return out;
}

}  // namespace mesh::controller
