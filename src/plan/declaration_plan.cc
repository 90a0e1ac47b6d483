#include "plan/declaration_plan.h"

#include <algorithm>
#include <map>

namespace mesh::plan {

using nlohmann::json;

namespace {

json env_json(const model::Node& node, const model::Module& module,
              const model::Component& component) {
  json env = json::object();
  for (const auto* layer : {&component.env, &module.env, &node.env}) {
    for (const auto& [name, value] : *layer) {
      env[name] = {{"value", value.text}, {"secret", value.secret}};
    }
  }
  return env;
}

json build_json(const model::Build& build) {
  return {{"context", build.context},
          {"containerfile", build.containerfile.value_or("")},
          {"target", build.target.value_or("")},
          {"args", build.args},
          {"secrets", build.secrets},
          {"platforms", build.platforms}};
}

json health_json(const model::Health& health) {
  return {{"kind", static_cast<int>(health.kind)},
          {"http", health.http},
          {"command", health.command},
          {"port", health.port},
          {"interval", health.interval.count()},
          {"timeout", health.timeout.count()},
          {"retries", health.retries},
          {"start", health.start.count()}};
}

json places_json(const model::Component& component) {
  json ports = json::array();
  for (const auto& port : component.ports) {
    ports.push_back({port.address, port.host, port.container, port.udp});
  }
  json volumes = json::array();
  for (const auto& volume : component.volumes) {
    volumes.push_back({volume.source, volume.target, volume.read_only});
  }
  json secrets = json::array();
  for (const auto& secret : component.secrets) {
    secrets.push_back(secret.value);
  }
  return {{"ports", ports},           {"volumes", volumes},           {"secrets", secrets},
          {"files", component.files}, {"devices", component.devices}, {"tmpfs", component.tmpfs}};
}

json limits_json(const model::Component& component) {
  return {{"network", component.network},
          {"capabilities", component.capabilities},
          {"read_only", component.read_only},
          {"memory", component.memory.value_or(-1)},
          {"cpus", component.cpus.value_or(-1)},
          {"pids", component.pids.value_or(-1)},
          {"init", component.init},
          {"grace", component.grace.count()},
          {"log_size", component.log_size},
          {"restart", static_cast<int>(component.restart)},
          {"after", component.after}};
}

/// What the module's environment tells of its place on the bus.
json place_on_bus(const model::Mesh& mesh, const model::Node& node, const model::Module& module) {
  json seats = json::array();
  for (const auto& seat : module.file->holds) {
    seats.push_back(seat.value.text());
  }
  json tools = json::array();
  for (const auto& tool : module.file->tools) {
    tools.push_back(
        {tool.name.text(), tool.description, tool.input_schema.value_or(""), tool.timeout.count()});
  }
  return {{"bus", mesh.bus_urls(node)},
          {"consumes", !module.file->consumes.empty()},
          {"seats", seats},
          {"tools", tools}};
}

/// `module.component` -> what it is, of one node.
using Components = std::map<std::string, json>;

Components components_of(const model::Mesh& mesh, const model::Node& node) {
  Components out;
  for (const auto& module : mesh.modules) {
    if (std::find(module.on.begin(), module.on.end(), node.name) == module.on.end()) {
      continue;
    }
    out[module.name.text()] = place_on_bus(mesh, node, module);
    for (const auto& component : module.file->components) {
      out[module.name.text() + "." + component.name.text()] =
          component_as_declared(mesh, node, module, component);
    }
  }
  return out;
}

Change change(Action action, const std::string& node, Because because) {
  Change out;
  out.action = action;
  out.kind = Kind::Declaration;
  out.name = node;
  out.because = std::move(because);
  return out;
}

std::vector<std::string> restarted(const std::string& node, const Components& had,
                                   const Components& wanted) {
  std::vector<std::string> out;
  for (const auto& [name, what] : wanted) {
    const auto before = had.find(name);
    if (name.find('.') != std::string::npos && before != had.end() && before->second != what) {
      out.push_back(node + "." + name);
    }
  }
  return out;
}

}  // namespace

json component_as_declared(const model::Mesh& mesh, const model::Node& node,
                           const model::Module& module, const model::Component& component) {
  return {{"build", component.build ? build_json(*component.build) : json()},
          {"image", component.image.value_or("")},
          {"run", component.run},
          {"path", module.path},
          {"command", component.command},
          {"entrypoint", component.entrypoint},
          {"user", component.user.value_or("")},
          {"env", env_json(node, module, component)},
          {"places", places_json(component)},
          {"limits", limits_json(component)},
          {"health", component.health ? health_json(*component.health) : json()},
          {"on_bus", place_on_bus(mesh, node, module)}};
}

std::vector<Change> declaration_plan(const model::Mesh* before, const model::Mesh& after) {
  std::vector<Change> out;
  for (const auto& node : after.nodes) {
    const auto wanted = components_of(after, node);
    const auto* was = before != nullptr ? before->node(node.name.text()) : nullptr;
    const Because because{"node " + node.name.text() + " is declared", node.place};
    if (was == nullptr) {
      out.push_back(change(Action::Create, node.name.text(), because));
      continue;
    }
    const auto had = components_of(*before, *was);
    if (had != wanted) {
      auto update = change(Action::Update, node.name.text(), because);
      update.restarted = restarted(node.name.text(), had, wanted);
      out.push_back(std::move(update));
    }
  }
  for (const auto& node : before != nullptr ? before->nodes : std::vector<model::Node>()) {
    if (after.node(node.name.text()) == nullptr) {
      out.push_back(
          change(Action::Delete, node.name.text(), {"the node is not declared any more", {}}));
    }
  }
  return out;
}

}  // namespace mesh::plan
