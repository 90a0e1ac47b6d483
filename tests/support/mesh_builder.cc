#include "tests/support/mesh_builder.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace mesh::test {

namespace {

template <class T>
T must(std::string_view text) {
  auto parsed = T::parse(text);
  if (!parsed) {
    std::fprintf(stderr, "mesh_builder: %s\n", parsed.error().message.c_str());
    std::abort();
  }
  return *parsed;
}

}  // namespace

model::EventsSettings default_events() {
  model::EventsSettings e;
  e.keep = std::chrono::hours(24 * 7);
  e.per_event = 10000;
  e.largest = 64 << 10;
  e.disk = std::int64_t{8} << 30;
  e.duplicates = std::chrono::minutes(2);
  return e;
}

model::Delivery default_delivery() {
  using std::chrono::seconds;
  model::Delivery d;
  d.within = seconds(30);
  d.attempts = 10;
  d.backoff = {seconds(1), seconds(5), seconds(30), seconds(120), seconds(600)};
  d.in_flight = 1000;
  return d;
}

MeshBuilder::MeshBuilder(std::string name)
    : mesh_file_(std::make_shared<std::string>("mesh.toml")) {
  mesh_.name = std::move(name);
  mesh_.events = default_events();
  mesh_.delivery = default_delivery();
  mesh_.place = next_place();
}

Place MeshBuilder::next_place() {
  return Place{mesh_file_, ++line_, 1};
}

Place MeshBuilder::next_module_place() {
  return Place{module_file_, ++line_, 1};
}

MeshBuilder& MeshBuilder::node(std::string_view name) {
  mesh_.nodes.push_back({must<model::NodeName>(name), {}, {}, {}, next_place()});
  return *this;
}

MeshBuilder& MeshBuilder::seat(std::string_view name, const std::vector<std::string>& accepts,
                               const std::vector<std::string>& emits) {
  model::Seat seat{must<model::SeatName>(name), {}, {}, {}, default_delivery(), next_place()};
  for (const auto& verb : accepts) {
    seat.accepts.push_back({must<model::VerbName>(verb), next_place()});
  }
  for (const auto& event : emits) {
    seat.emits.push_back({must<model::EventName>(event), next_place()});
  }
  mesh_.seats.push_back(std::move(seat));
  return *this;
}

MeshBuilder& MeshBuilder::from(std::string_view verb, const std::vector<std::string>& events) {
  auto& list = mesh_.seats.back().from[must<model::VerbName>(verb)];
  for (const auto& event : events) {
    list.push_back({must<model::EventRef>(event), next_place()});
  }
  return *this;
}

MeshBuilder& MeshBuilder::module(std::string_view name, const std::vector<std::string>& on) {
  files_.push_back(std::make_shared<model::ModuleFile>());
  const std::string path = "modules/" + std::string(name);
  model::Module module{
      must<model::ModuleName>(name), path, {}, {}, on.size() > 1, files_.back(), {}, {}};
  for (const auto& node : on) {
    module.on.push_back(must<model::NodeName>(node));
  }
  std::sort(module.on.begin(), module.on.end());
  module.place = next_place();
  module.on_place = next_place();
  module_file_ = std::make_shared<std::string>(path + "/module.toml");
  files_.back()->place = next_module_place();
  mesh_.modules.push_back(std::move(module));
  return *this;
}

MeshBuilder& MeshBuilder::emits(std::string_view event) {
  files_.back()->emits.push_back({must<model::EventName>(event), next_module_place()});
  return *this;
}

MeshBuilder& MeshBuilder::consumes(std::string_view event, model::From from) {
  files_.back()->consumes.push_back({must<model::EventRef>(event), from, next_module_place()});
  return *this;
}

MeshBuilder& MeshBuilder::holds(std::string_view seat) {
  files_.back()->holds.push_back({must<model::SeatName>(seat), next_module_place()});
  return *this;
}

MeshBuilder& MeshBuilder::uses(std::string_view seat_and_verb) {
  files_.back()->uses.push_back({must<model::VerbRef>(seat_and_verb), next_module_place()});
  return *this;
}

MeshBuilder& MeshBuilder::calls(std::string_view module_and_tool) {
  files_.back()->calls.push_back({must<model::ToolRef>(module_and_tool), next_module_place()});
  return *this;
}

MeshBuilder& MeshBuilder::tool(std::string_view name) {
  files_.back()->tools.push_back(
      {must<model::ToolName>(name), {}, {}, {}, std::chrono::seconds(30), next_module_place()});
  return *this;
}

model::Mesh MeshBuilder::mesh() const {
  model::Mesh out = mesh_;
  const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
  std::sort(out.nodes.begin(), out.nodes.end(), by_name);
  std::sort(out.seats.begin(), out.seats.end(), by_name);
  std::sort(out.modules.begin(), out.modules.end(), by_name);
  return out;
}

model::Mesh small_mesh() {
  return MeshBuilder()
      .node("one")
      .node("two")
      .seat("telegram-sender", {"send"}, {"delivered", "failed"})
      .module("telegram", {"one"})
      .holds("telegram-sender")
      .module("audit", {"two"})
      .consumes("shop.order.placed")
      .module("shop", {"two"})
      .emits("order.placed")
      .uses("telegram-sender.send")
      .mesh();
}

model::Mesh shop_mesh() {
  return MeshBuilder()
      .node("one")
      .node("two")
      .seat("telegram-sender", {"send"}, {"delivered", "failed"})
      .module("telegram", {"one"})
      .holds("telegram-sender")
      .module("audit", {"two"})
      .consumes("shop.order.placed")
      .tool("search")
      .module("shop", {"two"})
      .emits("order.placed")
      .consumes("telegram-sender:delivered")
      .uses("telegram-sender.send")
      .calls("audit.search")
      .tool("price")
      .mesh();
}

}  // namespace mesh::test
