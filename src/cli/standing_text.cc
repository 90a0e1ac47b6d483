#include "cli/standing_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace mesh::cli {

namespace {

Json or_null(const std::optional<std::string>& text) {
  return text ? Json(*text) : Json(nullptr);
}
Json or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

const controller::ComponentState* state_of(const StatusView& view, const model::Node& node,
                                           const model::Module& module,
                                           const model::Component& component) {
  return view.standing.find(node.name.text(), module.name.text(), component.name.text());
}

bool runs_on(const model::Module& module, const model::Node& node) {
  return std::ranges::find(module.on, node.name) != module.on.end();
}

Json component_json(const StatusView& view, const model::Node& node, const model::Module& module,
                    const model::Component& component) {
  const auto* state = state_of(view, node, module, component);
  return {{"name", component.name.text()},
          {"state", state != nullptr ? state->state : "unknown"},
          {"digest", state != nullptr ? or_null(state->digest) : Json(nullptr)},
          {"restarts", state != nullptr ? Json(state->restarts) : Json(nullptr)},
          {"since", state != nullptr ? or_null(state->since) : Json(nullptr)},
          {"because", state != nullptr && !state->because.empty()
                          ? because_json({state->because, component.place})
                          : Json(nullptr)}};
}

Json node_json(const StatusView& view, const model::Node& node) {
  auto modules = Json::array();
  for (const auto& module : view.mesh.modules) {
    if (!runs_on(module, node)) {
      continue;
    }
    auto components = Json::array();
    for (const auto& component : module.file->components) {
      components.push_back(component_json(view, node, module, component));
    }
    modules.push_back({{"module", module.name.text()}, {"components", std::move(components)}});
  }
  const auto* joined = view.standing.joined(node.name.text());
  const auto number = joined != nullptr ? joined->number : std::nullopt;
  const auto since = joined != nullptr ? joined->since : std::nullopt;
  return {{"name", node.name.text()},
          {"state", node_state(view, node)},
          {"number", number ? Json(*number) : Json(nullptr)},
          {"since", or_null(since)},
          {"modules", std::move(modules)}};
}

Json bus_json(const StatusView& view) {
  const auto& bus = view.standing.bus;
  const bool known = bus.running;
  return {{"server", view.mesh.bus.managed ? "managed" : "external"},
          {"running", bus.running},
          {"urls", known ? Json(bus.urls) : Json(view.mesh.bus.urls())},
          {"versions", bus.versions},
          {"streams", known ? Json(bus.streams) : Json(nullptr)},
          {"consumers", known ? Json(bus.consumers) : Json(nullptr)},
          {"storage", known ? Json(bus.storage) : Json(nullptr)},
          {"api_requests", known ? Json(bus.requests) : Json(nullptr)},
          {"because", bus.failure ? Json(bus.failure->message) : Json(nullptr)}};
}

Json registry_json(const StatusView& view) {
  const auto& registry = view.standing.registry;
  return {{"server", view.mesh.registry.managed ? "managed" : "external"},
          {"needed", registry.needed},
          {"running", registry.running},
          {"address", registry.address},
          {"version", or_null(registry.version)},
          {"images", registry.images},
          {"bytes", registry.bytes ? Json(*registry.bytes) : Json(nullptr)},
          {"because", registry.failure ? Json(registry.failure->message) : Json(nullptr)}};
}

Json consumers_json(const StatusView& view) {
  auto list = Json::array();
  for (const auto& one : view.standing.consumers) {
    list.push_back({{"name", one.name},
                    {"waiting", one.waiting},
                    {"unacknowledged", one.unacknowledged},
                    {"oldest", or_null(one.oldest)},
                    {"lost-in", one.lost_in ? Json(*one.lost_in) : Json(nullptr)}});
  }
  return list;
}

Json seats_json(const StatusView& view) {
  auto list = Json::array();
  for (const auto& one : view.standing.seats) {
    list.push_back({{"name", one.name},
                    {"waiting", one.waiting},
                    {"oldest", or_null(one.oldest)},
                    {"holders", one.holders}});
  }
  return list;
}

std::string components_text(const StatusView& view, const model::Node& node,
                            const model::Module& module) {
  std::string text;
  for (const auto& component : module.file->components) {
    const auto* state = state_of(view, node, module, component);
    text += fmt::format("    {:<32} {}", module.name.text() + "." + component.name.text(),
                        state != nullptr ? state->state : "unknown");
    if (state != nullptr) {
      text += fmt::format("  since {}, {}", state->since,
                          counted(static_cast<std::uint64_t>(state->restarts), "restart"));
      text += state->because.empty() ? "" : ": " + state->because;
    }
    text += "\n";
  }
  return module.file->components.empty()
             ? fmt::format("    {:<32} run by something else\n", module.name.text())
             : text;
}

std::string bus_text(const StatusView& view) {
  const auto& bus = view.standing.bus;
  if (!bus.running) {
    return "bus: not reached" + (bus.failure ? " (" + bus.failure->message + ")" : "") + "\n";
  }
  return fmt::format("bus: nats-server {} at {}, {}, {}, {} bytes\n", join(bus.versions, ", "),
                     join(bus.urls, ","), counted(bus.streams, "stream"),
                     counted(bus.consumers, "consumer"), bus.storage);
}

/// Nothing where the mesh needs none and none runs.
std::string registry_text(const StatusView& view) {
  const auto& registry = view.standing.registry;
  if (!registry.running) {
    return registry.needed && registry.failure
               ? fmt::format("registry: not reached ({})\n", registry.failure->message)
               : std::string();
  }
  auto text = fmt::format("registry: {}{}, {} images", registry.address,
                          registry.version ? ", docker-registry " + *registry.version : "",
                          registry.images);
  text += registry.bytes ? fmt::format(", {} bytes", *registry.bytes) : "";
  return text + "\n";
}

std::string consumer_text(const controller::ConsumerStanding& one) {
  auto text = fmt::format("  {:<40} {} waiting, {} unacknowledged", one.name, one.waiting,
                          one.unacknowledged);
  if (one.oldest) {
    text += ", the oldest of " + *one.oldest;
  }
  if (one.lost_in) {
    text += fmt::format(", lost in {} s", *one.lost_in);
  }
  if (one.stalled) {
    text += ", STALLED: it may have no more unacknowledged";
  }
  return text + "\n";
}

}  // namespace

std::string node_state(const StatusView& view, const model::Node& node) {
  const auto* joined = view.standing.joined(node.name.text());
  return joined != nullptr ? joined->state : "unknown";
}

Json status_json(const StatusView& view) {
  auto nodes = Json::array();
  for (const auto& node : view.mesh.nodes) {
    nodes.push_back(node_json(view, node));
  }
  const auto& parked = view.standing.parked;
  return {
      {"mesh", view.mesh_id},      {"number", view.number > 0 ? Json(view.number) : Json(nullptr)},
      {"bus", bus_json(view)},     {"registry", registry_json(view)},
      {"nodes", std::move(nodes)}, {"consumers", consumers_json(view)},
      {"seats", seats_json(view)}, {"parked", parked ? Json(*parked) : Json(nullptr)}};
}

std::string status_text(const StatusView& view) {
  auto text = fmt::format(
      "mesh {} ({}), {}\n", view.mesh.name, view.mesh_id,
      view.number > 0 ? fmt::format("push {}", view.number) : std::string("nothing pushed yet"));
  text += bus_text(view) + registry_text(view);
  for (const auto& node : view.mesh.nodes) {
    const auto* joined = view.standing.joined(node.name.text());
    text += fmt::format("node {}: {}{}\n", node.name.text(), node_state(view, node),
                        joined == nullptr || joined->because.empty() ? "" : ", " + joined->because);
    for (const auto& module : view.mesh.modules) {
      text += runs_on(module, node) ? components_text(view, node, module) : std::string();
    }
  }
  text += view.standing.consumers.empty() ? "" : "consumers\n";
  for (const auto& one : view.standing.consumers) {
    text += consumer_text(one);
  }
  for (const auto& seat : view.standing.seats) {
    text +=
        fmt::format("seat {}: {} waiting{}, held by {}\n", seat.name, seat.waiting,
                    seat.oldest ? ", the oldest of " + *seat.oldest : "",
                    seat.holders.empty() ? "nobody who is connected" : join(seat.holders, ", "));
  }
  if (view.standing.parked) {
    text += fmt::format("{} parked\n", *view.standing.parked);
  }
  return text;
}

}  // namespace mesh::cli
