#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "model/cross_check.h"

namespace mesh::model {

namespace {

bool is_any_address(const std::string& address) {
  return address == "0.0.0.0" || address == "::";
}

/// A fixed port that a component takes on its node.
struct Taken {
  const Port* port;
  const Module* module;
  const Component* component;
};

std::string describe(const Taken& taken) {
  return fmt::format("component \"{}\" of module \"{}\"", taken.component->name.text(),
                     taken.module->name.text());
}

/// The ports of one node, by number; few share one, so each list is short.
using NodePorts = std::unordered_map<int, std::vector<Taken>>;

void take_port(const Crossing& crossing, const std::string& node, NodePorts& ports,
               const Taken& taken) {
  auto& others = ports[taken.port->host];
  for (const auto& other : others) {
    const bool same = other.port->address == taken.port->address ||
                      is_any_address(other.port->address) || is_any_address(taken.port->address);
    if (same && other.port->udp == taken.port->udp) {
      crossing.report.error(taken.port->place, "port-taken",
                            fmt::format("port {} on node \"{}\" is already taken by {}",
                                        taken.port->host, node, describe(other)),
                            "host port 0 takes a free one");
      return;
    }
  }
  others.push_back(taken);
}

void take_ports(const Crossing& crossing, const std::string& node, NodePorts& ports,
                const Module& module) {
  for (const auto& component : module.file->components) {
    for (const auto& port : component.ports) {
      if (port.host != 0) {
        take_port(crossing, node, ports, {&port, &module, &component});
      }
    }
  }
}

void check_each(const Crossing& crossing, const Module& module) {
  if (module.on.size() < 2 || module.each || module.file->consumes.empty()) {
    return;
  }
  crossing.report.warning(
      module.on_place, "consumes-on-several-nodes",
      fmt::format("module \"{}\" consumes events on {} nodes: each of them gets every event",
                  module.name.text(), module.on.size()),
      "a seat with from gives each event to one holder; each = true says that all is meant");
}

}  // namespace

void check_placing(const Crossing& crossing) {
  std::unordered_map<std::string_view, NodePorts> nodes;
  for (const auto& module : crossing.mesh.modules) {
    check_each(crossing, module);
    if (module.file->components.empty()) {
      continue;
    }
    for (const auto& node : module.on) {
      take_ports(crossing, node.text(), nodes[node.text()], module);
    }
  }
}

}  // namespace mesh::model
