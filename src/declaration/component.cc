#include "declaration/component.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "declaration/fields.h"

namespace mesh::declaration {

using nlohmann::json;

namespace {

constexpr std::array<std::pair<Restart, const char*>, 3> kRestarts{
    {{Restart::Always, "always"}, {Restart::OnFailure, "on-failure"}, {Restart::Never, "never"}}};
constexpr std::array<std::pair<Health::Kind, const char*>, 3> kHealthKinds{
    {{Health::Kind::Http, "http"}, {Health::Kind::Tcp, "tcp"}, {Health::Kind::Command, "command"}}};

template <class Names>
const char* name_in(const Names& names, auto value) {
  const auto found = std::ranges::find(names, value, [](const auto& one) { return one.first; });
  return found->second;
}

template <class Names>
auto value_in(const Names& names, Fields& fields, const char* key) {
  const auto text = fields.text(key);
  const auto found =
      std::ranges::find(names, text, [](const auto& one) { return std::string(one.second); });
  if (found == names.end()) {
    fields.wrong(key, "one that this version knows");
    return names.front().first;
  }
  return found->first;
}

json env_json(const std::map<std::string, Value>& env) {
  json out = json::object();
  for (const auto& [name, value] : env) {
    out[name] = value.sealed ? json{{"sealed", value.sealed->name}} : json{{"text", value.text}};
  }
  return out;
}

std::map<std::string, Value> env_from(const json& object, Fields& parent) {
  std::map<std::string, Value> out;
  for (const auto& [name, entry] : object.items()) {
    const bool sealed = entry.is_object() && entry.contains("sealed");
    Fields fields(entry, "the variable " + name);
    const auto text = fields.text(sealed ? "sealed" : "text");
    if (!fields.done()) {
      parent.wrong("env", "a table of variables");
    }
    out[name] = sealed ? Value{{}, Sealed{text}} : Value{text, std::nullopt};
  }
  return out;
}

json ports_json(const std::vector<Port>& ports) {
  json out = json::array();
  for (const auto& port : ports) {
    out.push_back({{"address", port.address},
                   {"host", port.host},
                   {"container", port.container},
                   {"udp", port.udp}});
  }
  return out;
}

std::vector<Port> ports_from(const json& array, Fields& parent) {
  std::vector<Port> out;
  for (const auto& entry : array) {
    Fields fields(entry, "a port");
    const auto host = fields.integer("host");
    const auto container = fields.integer("container");
    out.push_back({fields.text("address"), static_cast<int>(host), static_cast<int>(container),
                   fields.flag("udp")});
    const auto possible = [](std::int64_t port) { return port >= 0 && port <= 65535; };
    if (!fields.done() || !possible(host) || !possible(container)) {
      parent.wrong("ports", "a list of ports");
    }
  }
  return out;
}

json volumes_json(const std::vector<Volume>& volumes) {
  json out = json::array();
  for (const auto& volume : volumes) {
    out.push_back(
        {{"source", volume.source}, {"target", volume.target}, {"read_only", volume.read_only}});
  }
  return out;
}

std::vector<Volume> volumes_from(const json& array, Fields& parent) {
  std::vector<Volume> out;
  for (const auto& entry : array) {
    Fields fields(entry, "a volume");
    out.push_back({fields.text("source"), fields.text("target"), fields.flag("read_only")});
    if (!fields.done()) {
      parent.wrong("volumes", "a list of volumes");
    }
  }
  return out;
}

json health_json(const Health& health) {
  return {{"kind", name_in(kHealthKinds, health.kind)},
          {"path", health.path},
          {"command", health.command},
          {"port", health.port},
          {"interval_ms", health.interval.count()},
          {"timeout_ms", health.timeout.count()},
          {"retries", health.retries},
          {"start_ms", health.start.count()}};
}

Health health_from(const json& object, Fields& parent) {
  Health out;
  Fields fields(object, "a health check");
  out.kind = value_in(kHealthKinds, fields, "kind");
  out.path = fields.text("path");
  out.command = fields.texts("command");
  out.port = static_cast<int>(fields.integer("port"));
  out.interval = Milliseconds{fields.integer("interval_ms")};
  out.timeout = Milliseconds{fields.integer("timeout_ms")};
  out.retries = static_cast<int>(fields.integer("retries"));
  out.start = Milliseconds{fields.integer("start_ms")};
  if (!fields.done()) {
    parent.wrong("health", "a health check");
  }
  return out;
}

json files_json(const std::map<std::string, std::string>& files) {
  json out = json::object();
  for (const auto& [path, bytes] : files) {
    out[path] = base64(bytes);
  }
  return out;
}

std::map<std::string, std::string> files_from(const json& object, Fields& parent) {
  std::map<std::string, std::string> out;
  for (const auto& [path, entry] : object.items()) {
    auto bytes = entry.is_string() ? from_base64(entry.get<std::string>()) : std::nullopt;
    if (!bytes) {
      parent.wrong("files", "a table of files in base 64");
      return {};
    }
    out[path] = *std::move(bytes);
  }
  return out;
}

json secrets_json(const std::map<std::string, Sealed>& secrets) {
  json out = json::object();
  for (const auto& [file, value] : secrets) {
    out[file] = value.name;
  }
  return out;
}

std::map<std::string, Sealed> secrets_from(const json& object, Fields& parent) {
  std::map<std::string, Sealed> out;
  for (const auto& [file, entry] : object.items()) {
    if (!entry.is_string()) {
      parent.wrong("secrets", "a table of names");
      return {};
    }
    out[file] = Sealed{entry.get<std::string>()};
  }
  return out;
}

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json();
}

}  // namespace

bool Component::excludes_itself() const {
  return !volumes.empty() || network == "host" || !run.empty() ||
         std::ranges::any_of(ports, [](const auto& port) { return port.host != 0; });
}

const char* restart_name(Restart restart) {
  return name_in(kRestarts, restart);
}

json to_json(const Component& component) {
  return {{"name", component.name},
          {"image", component.image},
          {"run", component.run},
          {"command", component.command},
          {"entrypoint", component.entrypoint},
          {"user", or_null(component.user)},
          {"env", env_json(component.env)},
          {"secrets", secrets_json(component.secrets)},
          {"files", files_json(component.files)},
          {"ports", ports_json(component.ports)},
          {"volumes", volumes_json(component.volumes)},
          {"devices", component.devices},
          {"network", component.network},
          {"capabilities", component.capabilities},
          {"read_only", component.read_only},
          {"tmpfs", component.tmpfs},
          {"memory", or_null(component.memory)},
          {"cpus", or_null(component.cpus)},
          {"pids", or_null(component.pids)},
          {"init", component.init},
          {"grace_ms", component.grace.count()},
          {"log_size", component.log_size},
          {"restart", restart_name(component.restart)},
          {"after", component.after},
          {"health", component.health ? health_json(*component.health) : json()}};
}

Result<Component> component_from_json(const json& object) {
  Component out;
  Fields fields(object, "a component");
  out.name = fields.text("name");
  out.image = fields.text("image");
  out.run = fields.texts("run");
  out.command = fields.texts("command");
  out.entrypoint = fields.texts("entrypoint");
  out.env = env_from(fields.object("env"), fields);
  out.secrets = secrets_from(fields.object("secrets"), fields);
  out.files = files_from(fields.object("files"), fields);
  out.ports = ports_from(fields.array("ports"), fields);
  out.volumes = volumes_from(fields.array("volumes"), fields);
  out.devices = fields.texts("devices");
  out.network = fields.text("network");
  out.capabilities = fields.texts("capabilities");
  out.read_only = fields.flag("read_only");
  out.tmpfs = fields.texts("tmpfs");
  out.init = fields.flag("init");
  out.grace = Milliseconds{fields.integer("grace_ms")};
  out.log_size = fields.integer("log_size");
  out.restart = value_in(kRestarts, fields, "restart");
  out.after = fields.texts("after");
  if (fields.optional("user") != nullptr) {
    out.user = fields.text("user");
  }
  if (fields.optional("memory") != nullptr) {
    out.memory = fields.integer("memory");
  }
  if (fields.optional("cpus") != nullptr) {
    out.cpus = fields.number("cpus");
  }
  if (fields.optional("pids") != nullptr) {
    out.pids = static_cast<int>(fields.integer("pids"));
  }
  if (fields.optional("health") != nullptr) {
    out.health = health_from(fields.object("health"), fields);
  }
  if (out.image.empty() == out.run.empty()) {
    fields.wrong("image", "the one of `image` and `run` that is set");
  }
  MESH_CHECK(fields.done());
  return out;
}

}  // namespace mesh::declaration
