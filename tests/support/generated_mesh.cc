#include "tests/support/generated_mesh.h"

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tests/support/mesh_builder.h"

namespace mesh::test {

namespace {

using Names = std::vector<std::string>;

// Names that a careless composer mixes up: with subjects' own words, with each other's joins.
constexpr std::array<std::string_view, 16> kNames = {
    "a",      "b",    "a-b", "b-a",   "one", "event", "tool", "accept",
    "events", "seat", "mod", "inbox", "9",   "a--b",  "ask",  "worker"};

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  /// 0 to `most`, both included.
  std::size_t upto(std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(0, most)(random_);
  }
  bool chance(std::size_t in) { return upto(in - 1) == 0; }
  const std::string& of(const Names& names) { return names[upto(names.size() - 1)]; }

  /// `count` different names.
  Names names(std::size_t count) {
    std::set<std::string> out;
    while (out.size() < count) {
      std::string name(kNames[upto(kNames.size() - 1)]);
      if (chance(3)) {
        name += fmt::format("-{}", upto(99));
      } else if (chance(20)) {
        name.append(63 - name.size(), 'x');
      }
      out.insert(std::move(name));
    }
    return {out.begin(), out.end()};
  }

  /// Up to `most` different ones of `from`.
  Names some(const Names& from, std::size_t most) {
    std::set<std::string> out;
    for (std::size_t i = from.empty() ? 0 : upto(most); i > 0; --i) {
      out.insert(of(from));
    }
    return {out.begin(), out.end()};
  }

  std::string event() {
    std::string out(kNames[upto(kNames.size() - 1)]);
    for (std::size_t more = chance(4) ? upto(7) : upto(1); more > 0; --more) {
      out += fmt::format(".{}", kNames[upto(kNames.size() - 1)]);
    }
    return out;
  }

 private:
  std::mt19937_64 random_;
};

/// What exists, as those who refer to it write it.
struct World {
  Names nodes, modules, seats, held;
  Names events;  // module.event and seat:event
  Names verbs;   // seat.verb of held seats
  std::map<std::string, Names> emits, tools, holds;
};

void draw_modules(Draw& draw, World& world, std::size_t size) {
  world.modules = draw.names(draw.upto(size));
  for (const auto& module : world.modules) {
    std::set<std::string> events;
    for (std::size_t i = draw.upto(2); i > 0; --i) {
      events.insert(draw.event());
    }
    for (const auto& event : events) {
      world.events.push_back(fmt::format("{}.{}", module, event));
    }
    world.emits[module] = {events.begin(), events.end()};
    world.tools[module] = draw.names(draw.upto(2));
    world.holds[module] = draw.some(world.seats, 2);
    world.held.insert(world.held.end(), world.holds[module].begin(), world.holds[module].end());
  }
}

/// A seat; what feeds it comes from modules and from seats that were made before it.
void add_seat(Draw& draw, MeshBuilder& mesh, World& world, const std::string& seat, bool held) {
  const auto verbs = draw.names(1 + draw.upto(2));
  std::set<std::string> events;
  for (std::size_t i = draw.upto(2); i > 0; --i) {
    events.insert(draw.event());
  }
  mesh.seat(seat, verbs, {events.begin(), events.end()});
  Names free = world.events;  // an event becomes work of one verb alone
  for (const auto& verb : verbs) {
    if (const auto fed = draw.some(free, 2); draw.chance(3) && !fed.empty()) {
      mesh.from(verb, fed);
      std::erase_if(free, [&](const auto& event) { return std::ranges::count(fed, event) > 0; });
    }
    if (held) {
      world.verbs.push_back(fmt::format("{}.{}", seat, verb));
    }
  }
  for (const auto& event : held ? events : std::set<std::string>{}) {
    world.events.push_back(fmt::format("{}:{}", seat, event));
  }
}

void add_module(Draw& draw, MeshBuilder& mesh, const World& world, const std::string& name) {
  Names on = draw.some(world.nodes, 3);
  mesh.module(name, on.empty() ? Names{world.nodes.front()} : on);
  for (const auto& event : world.emits.at(name)) {
    mesh.emits(event);
  }
  for (const auto& tool : world.tools.at(name)) {
    mesh.tool(tool);
  }
  for (const auto& seat : world.holds.at(name)) {
    mesh.holds(seat);
  }
  for (const auto& event : draw.some(world.events, 4)) {
    mesh.consumes(event);
  }
  for (const auto& verb : draw.some(world.verbs, 2)) {
    mesh.uses(verb);
  }
  for (const auto& other : draw.some(world.modules, 2)) {
    if (other != name && !world.tools.at(other).empty()) {
      mesh.calls(fmt::format("{}.{}", other, draw.of(world.tools.at(other))));
    }
  }
}

std::string list(const Names& items) {
  return items.empty() ? "[]" : fmt::format("[\"{}\"]", fmt::join(items, "\", \""));
}

template <class Items, class Text>
std::string list_of(const Items& items, Text text) {
  Names out;
  for (const auto& item : items) {
    out.push_back(text(item));
  }
  return list(out);
}

constexpr auto kText = [](const auto& located) { return located.value.text(); };

std::string seat_toml(const model::Seat& seat) {
  std::string out = fmt::format("\n[seats.{}]\naccepts = {}\nemits = {}\n", seat.name.text(),
                                list_of(seat.accepts, kText), list_of(seat.emits, kText));
  Names from;
  for (const auto& [verb, events] : seat.from) {
    from.push_back(fmt::format("{} = {}", verb.text(), list_of(events, kText)));
  }
  if (!from.empty()) {
    out += fmt::format("from = {{ {} }}\n", fmt::join(from, ", "));
  }
  return out;
}

std::string consume_toml(const model::Consume& consume) {
  switch (consume.from.kind) {
    case model::From::Kind::New:
      return fmt::format("\"{}\"", consume.event.text());
    case model::From::Kind::All:
      return fmt::format("{{ event = \"{}\", from = \"all\" }}", consume.event.text());
    case model::From::Kind::Age:
      break;
  }
  return fmt::format("{{ event = \"{}\", from = \"{}ms\" }}", consume.event.text(),
                     consume.from.age.count());
}

std::string module_toml(const model::ModuleFile& file) {
  Names consumes;
  for (const auto& consume : file.consumes) {
    consumes.push_back(consume_toml(consume));
  }
  std::string out =
      fmt::format("emits = {}\nconsumes = [{}]\nholds = {}\nuses = {}\ncalls = {}\n",
                  list_of(file.emits, kText), fmt::join(consumes, ", "), list_of(file.holds, kText),
                  list_of(file.uses, kText), list_of(file.calls, kText));
  for (const auto& tool : file.tools) {
    out += fmt::format("\n[tools.{}]\n", tool.name.text());
  }
  return out;
}

}  // namespace

model::Mesh generated_mesh(std::uint64_t seed, std::size_t size) {
  Draw draw(seed);
  World world;
  world.nodes = draw.names(1 + draw.upto(size - 1));
  world.seats = draw.names(draw.upto(3));
  draw_modules(draw, world, size);
  MeshBuilder mesh;
  for (const auto& node : world.nodes) {
    mesh.node(node);
  }
  for (const auto& seat : world.seats) {
    const bool held = std::ranges::find(world.held, seat) != world.held.end();
    add_seat(draw, mesh, world, seat, held);
  }
  for (const auto& module : world.modules) {
    add_module(draw, mesh, world, module);
  }
  return mesh.mesh();
}

model::Mesh bench_mesh(std::size_t modules, std::size_t nodes) {
  MeshBuilder mesh;
  for (std::size_t i = 0; i < nodes; ++i) {
    mesh.node(fmt::format("node-{}", i));
  }
  const std::size_t seats = std::max<std::size_t>(1, modules / 10);
  for (std::size_t i = 0; i < seats; ++i) {
    mesh.seat(fmt::format("seat-{}", i), {"work"}, {"done"});
  }
  for (std::size_t i = 0; i < modules; ++i) {
    const std::size_t next = (i + 1) % modules;
    mesh.module(fmt::format("module-{}", i), {fmt::format("node-{}", i % nodes)})
        .emits("order.placed")
        .consumes(fmt::format("module-{}.order.placed", next))
        .uses(fmt::format("seat-{}.work", i % seats))
        .tool("search");
    if (next != i) {
      mesh.calls(fmt::format("module-{}.search", next));
    }
    if (i % 10 == 0) {
      mesh.holds(fmt::format("seat-{}", (i / 10) % seats));
    }
  }
  return mesh.mesh();
}

std::map<std::string, std::string> to_toml(const model::Mesh& mesh) {
  std::map<std::string, std::string> files;
  std::string root = fmt::format("mesh = \"{}\"\n", mesh.name);
  for (const auto& node : mesh.nodes) {
    root += fmt::format("\n[nodes.{}]\n", node.name.text());
  }
  for (const auto& seat : mesh.seats) {
    root += seat_toml(seat);
  }
  for (const auto& module : mesh.modules) {
    root += fmt::format("\n[modules.{}]\npath = \"{}\"\non = {}\n{}", module.name.text(),
                        module.path, list_of(module.on, [](const auto& n) { return n.text(); }),
                        module.each ? "each = true\n" : "");
    files[module.path + "/module.toml"] = module_toml(*module.file);
  }
  files["mesh.toml"] = std::move(root);
  return files;
}

}  // namespace mesh::test
