#include <string>
#include <vector>

#include <fmt/format.h>

#include "model/addresses.h"
#include "model/cross_check.h"

namespace mesh::model {

namespace {

bool is_any_address(const std::string& address) {
  return address == "0.0.0.0" || address == "::";
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

/// Which machine is the controller's is not declared, and under `mesh up` it is every node's.
void Placing::check_mesh_ports(const Port& port, const Module& module, const Component& component) {
  const auto& mesh = crossing_.mesh;
  const auto check = [&](bool managed, const std::string& listen, const char* what) {
    const auto address = managed ? parse_host_port(listen) : Result<HostPort>(HostPort{});
    if (port.udp || !address || address->port != port.host || port.host == 0) {
      return;
    }
    crossing_.report.warning(
        port.place, "port-of-mesh",
        fmt::format("port {} of component \"{}\" of module \"{}\" is the one that the managed {} "
                    "listens on",
                    port.host, component.name.text(), module.name.text(), what),
        "on the controller's machine one of them does not start; choose another, or another "
        "listen");
  };
  check(mesh.bus.managed, mesh.bus.listen_or_default(), "bus");
  check(mesh.registry.managed && mesh.registry.declared, mesh.registry.listen, "registry");
}

void Placing::take(const std::string& node, NodePorts& ports, const Taken& taken) {
  auto& others = ports[taken.port->host];
  for (const auto& other : others) {
    const bool same = other.port->address == taken.port->address ||
                      is_any_address(other.port->address) || is_any_address(taken.port->address);
    if (same && other.port->udp == taken.port->udp) {
      crossing_.report.error(
          taken.port->place, "port-taken",
          fmt::format("port {} on node \"{}\" is already taken by component \"{}\" of module "
                      "\"{}\"",
                      taken.port->host, node, other.component->name.text(),
                      other.module->name.text()),
          "host port 0 takes a free one");
      return;
    }
  }
  others.push_back(taken);
}

void Placing::check(const Module& module) {
  check_each(crossing_, module);
  for (const auto& component : module.file->components) {
    for (const auto& port : component.ports) {
      check_mesh_ports(port, module, component);
      for (const auto& node : module.on) {
        if (port.host != 0) {
          take(node.text(), nodes_[node.text()], {&port, &module, &component});
        }
      }
    }
  }
}

}  // namespace mesh::model
