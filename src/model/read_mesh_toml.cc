#include "model/read_mesh_toml.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "model/addresses.h"
#include "model/env.h"
#include "model/read_settings.h"
#include "model/table.h"

namespace mesh::model {

namespace {

constexpr std::array<std::string_view, 3> kReservedNodes = {"controller", "mesh", "node"};

Result<std::string> parse_mesh_name(std::string_view text) {
  MESH_CHECK(check_name("mesh", text));
  return std::string(text);
}

/// `name` as a T, or nothing with a problem at its place.
template <class T>
std::optional<T> name_of(const Table& table, const Entry& entry) {
  return table.accept("bad-name", entry.place, T::parse(entry.key));
}

void refuse_reserved(const Entry& entry, Report& report) {
  if (std::ranges::find(kReservedNodes, entry.key) != kReservedNodes.end()) {
    report.error(entry.place, "reserved-name",
                 fmt::format("no node may be called \"{}\"", entry.key),
                 "the name has a meaning on the bus; choose another");
  }
}

void read_nodes(const Table& top, std::vector<Node>& out) {
  for (const auto& entry : top.entries("nodes")) {
    const Table table(entry.value, kNode, entry.key);
    const auto name = name_of<NodeName>(top, entry);
    refuse_reserved(entry, top.report());
    Node node{name.value_or(stand_in<NodeName>())};
    node.place = entry.place;
    table.read("bus", "bad-url", parse_bus_url, node.bus);
    table.read("registry", "bad-address", parse_registry_host, node.registry);
    read_env(table, "env", node.env);
    if (name) {
      out.push_back(std::move(node));
    }
  }
}

void read_from(const Table& table, Seat& seat) {
  for (const auto& entry : table.entries("from")) {
    auto verb = table.accept("bad-name", entry.place, VerbName::parse(entry.key));
    if (!verb) {
      continue;
    }
    auto& events = seat.from[std::move(*verb)];
    for (auto& text : table.texts_of("from", entry.value, /*once=*/true)) {
      if (auto event = table.accept("bad-event", text.place, EventRef::parse(text.value))) {
        events.push_back({std::move(*event), std::move(text.place)});
      }
    }
  }
}

Seat read_seat(const Table& table, SeatName name, const Delivery& delivery) {
  Seat seat{std::move(name)};
  seat.delivery = delivery;
  table.read_list("accepts", "bad-name", VerbName::parse, seat.accepts);
  table.read_list("emits", "bad-event", EventName::parse, seat.emits);
  read_from(table, seat);
  read_delivery(table, seat.delivery);
  const auto accepts = table.find("accepts");
  const auto items = accepts ? accepts->items() : std::nullopt;
  if (items && items->empty()) {
    table.error("accepts", "empty-list", fmt::format("{} accepts nothing", table.shown()),
                "name at least one verb");
  }
  return seat;
}

void read_seats(const Table& top, const Delivery& delivery, std::vector<Seat>& out) {
  for (const auto& entry : top.entries("seats")) {
    const auto name = name_of<SeatName>(top, entry);
    auto seat = read_seat(Table(entry.value, kSeat, entry.key), name.value_or(stand_in<SeatName>()),
                          delivery);
    seat.place = entry.place;
    if (name) {
      out.push_back(std::move(seat));
    }
  }
}

void put_everywhere(const Table& table, const std::vector<Node>& nodes, Module& module) {
  for (const auto& node : nodes) {
    module.on.push_back(node.name);
  }
  if (nodes.empty()) {
    table.error("on", "on-nowhere",
                fmt::format("{} is on no node: none is declared", table.shown()));
  }
}

std::string nearest_node(const std::vector<Node>& nodes, const std::string& name) {
  std::vector<std::string> names;
  names.reserve(nodes.size());
  for (const auto& node : nodes) {
    names.push_back(node.name.text());
  }
  const auto near = nearest(name, names);
  return near.empty() ? fmt::format("add [nodes.{}] to mesh.toml", name)
                      : fmt::format("did you mean \"{}\"?", near);
}

void put_on(const Table& table, const Located<std::string>& text, const Mesh& mesh,
            Module& module) {
  auto name = table.accept("bad-name", text.place, NodeName::parse(text.value));
  if (!name) {
    return;
  }
  if (mesh.node(text.value) == nullptr) {
    table.report().error(text.place, "unknown-node",
                         fmt::format("no node \"{}\" is declared", text.value),
                         table.report().wants_hints() ? nearest_node(mesh.nodes, text.value) : "");
    return;
  }
  module.on.push_back(std::move(*name));
}

void read_on(const Table& table, const Mesh& mesh, Module& module) {
  const auto value = table.find("on");
  if (!value) {
    return;
  }
  module.on_place = value->place();
  if (const auto* text = value->text(); text != nullptr && *text == "all") {
    put_everywhere(table, mesh.nodes, module);
    return;
  }
  for (const auto& text : table.texts("on", /*once=*/true)) {
    put_on(table, text, mesh, module);
  }
  std::ranges::sort(module.on);
  if (const auto items = value->items(); items && items->empty()) {
    table.error("on", "on-nowhere", fmt::format("{} is on no node", table.shown()),
                "name its nodes, or write on = \"all\"");
  }
}

void read_modules(const Table& top, MeshToml& out) {
  auto& mesh = out.mesh;
  const auto entries = top.entries("modules");
  mesh.modules.reserve(entries.size());
  for (const auto& entry : entries) {
    const Table table(entry.value, kModule, entry.key);
    const auto name = name_of<ModuleName>(top, entry);
    Module module{name.value_or(stand_in<ModuleName>())};
    module.place = module.on_place = entry.place;
    table.read("path", module.path);
    read_on(table, mesh, module);
    read_env(table, "env", module.env);
    table.read("each", module.each);
    if (name) {
      mesh.modules.push_back(std::move(module));
    } else {
      out.misnamed.emplace_back(entry.key);
    }
  }
}

}  // namespace

MeshToml read_mesh_toml(const Value& root) {
  const Table top(root, kMeshTop);
  MeshToml out;
  auto& mesh = out.mesh;
  mesh.place = Place{root.source().file, 1, 1};
  mesh.bus.place = mesh.events.place = mesh.delivery.place = mesh.registry.place = mesh.place;
  mesh.events = default_events();
  mesh.delivery = default_delivery();
  mesh.registry = default_registry();
  top.read("mesh", "bad-name", parse_mesh_name, mesh.name);
  if (const auto value = top.find("bus")) {
    read_bus(Table(*value, kBus), mesh.bus);
  }
  if (const auto value = top.find("events")) {
    read_events(Table(*value, kEventsTable), mesh.events);
  }
  if (const auto value = top.find("delivery")) {
    read_delivery(Table(*value, kDelivery), mesh.delivery);
  }
  if (const auto value = top.find("registry")) {
    read_registry(Table(*value, kRegistry), mesh.registry);
  }
  read_upstreams(top, mesh.upstreams);
  read_nodes(top, mesh.nodes);
  read_seats(top, mesh.delivery, mesh.seats);
  read_modules(top, out);
  return out;
}

}  // namespace mesh::model
