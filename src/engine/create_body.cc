#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "engine/answers.h"

namespace mesh::engine {

using nlohmann::json;

namespace {

/// Two files of the log, together at most the cap.
constexpr std::int64_t kLogFiles = 2;

std::string port_key(const Published& port) {
  return fmt::format("{}/{}", port.container, port.udp ? "udp" : "tcp");
}

json bindings(const std::vector<Published>& ports) {
  json out = json::object();
  for (const Published& port : ports) {
    const std::string host = port.host == 0 ? "" : std::to_string(port.host);
    out[port_key(port)].push_back({{"HostIp", port.address}, {"HostPort", host}});
  }
  return out;
}

json exposed(const std::vector<Published>& ports) {
  json out = json::object();
  for (const Published& port : ports) {
    out[port_key(port)] = json::object();
  }
  return out;
}

json mounts_json(const std::vector<Mount>& mounts) {
  json out = json::array();
  for (const Mount& mount : mounts) {
    out.push_back({{"Type", mount.kind == Mount::Kind::Volume ? "volume" : "bind"},
                   {"Source", mount.source},
                   {"Target", mount.target},
                   {"ReadOnly", mount.read_only}});
  }
  return out;
}

json devices_json(const std::vector<std::string>& devices) {
  json out = json::array();
  for (const std::string& device : devices) {
    const auto parts = split(device, ':');
    out.push_back({{"PathOnHost", parts[0]},
                   {"PathInContainer", parts.size() > 1 ? parts[1] : parts[0]},
                   {"CgroupPermissions", parts.size() > 2 ? std::string(parts[2]) : "rwm"}});
  }
  return out;
}

/// The driver whose log both engines can give back; podman keeps one file under this name.
json log_config(const ContainerSpec& spec, bool docker) {
  json options = json::object();
  if (spec.log_size > 0) {
    options["max-size"] = std::to_string(docker ? spec.log_size / kLogFiles : spec.log_size);
    if (docker) {
      options["max-file"] = std::to_string(kLogFiles);
    }
  }
  return {{"Type", "json-file"}, {"Config", options}};
}

json limits(const ContainerSpec& spec, json host) {
  if (spec.memory) {
    host["Memory"] = *spec.memory;
  }
  if (spec.cpus) {
    host["NanoCpus"] = static_cast<std::int64_t>(std::llround(*spec.cpus * 1e9));
  }
  if (spec.pids) {
    host["PidsLimit"] = *spec.pids;
  }
  return host;
}

json host_config(const ContainerSpec& spec, bool docker) {
  json out{{"NetworkMode", spec.network},
           {"PortBindings", bindings(spec.ports)},
           {"Mounts", mounts_json(spec.mounts)},
           {"Devices", devices_json(spec.devices)},
           {"CapAdd", spec.capabilities},
           {"ReadonlyRootfs", spec.read_only},
           {"Tmpfs", spec.tmpfs},
           {"Init", spec.init},
           {"LogConfig", log_config(spec, docker)},
           {"RestartPolicy", {{"Name", "no"}}}};
  if (docker && spec.network == "bridge") {
    // podman has this name by itself
    out["ExtraHosts"] = {"host.containers.internal:host-gateway"};
  }
  return limits(spec, std::move(out));
}

json environment(const std::map<std::string, std::string>& variables) {
  json out = json::array();
  for (const auto& [name, value] : variables) {
    out.push_back(name + "=" + value);
  }
  return out;
}

/// Only to be run when asked: the interval is a year. podman 4 joins the parts of `Test` by spaces,
/// and reads the whole as a command's words where it is JSON.
json podman_check(const std::vector<std::string>& command) {
  const auto year = std::chrono::nanoseconds(std::chrono::years(1)).count();
  return {{"Test", {json(command).dump()}}, {"Interval", year}, {"Retries", 1}};
}

Status check_values(const ContainerSpec& spec) {
  for (const auto& [name, value] : spec.environment) {
    if (!is_utf8(value) || value.find('\0') != std::string::npos) {
      return fail(Code::InvalidArgument,
                  fmt::format("the variable {} holds bytes that no container can be given",
                              printable(name)),
                  "a secret that is not text can be given as a file (`secrets`)");
    }
  }
  return {};
}

}  // namespace

Result<std::string> create_body(const ContainerSpec& spec, const About& about,
                                bool without_health_check) {
  MESH_CHECK(check_values(spec));
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(spec.grace).count();
  json out{{"Image", spec.image},
           {"Labels", spec.labels},
           {"Env", environment(spec.environment)},
           {"StopTimeout", seconds},
           {"ExposedPorts", exposed(spec.ports)},
           {"HostConfig", host_config(spec, about.name != "podman")}};
  if (!spec.entrypoint.empty()) {
    out["Entrypoint"] = spec.entrypoint;
  }
  if (!spec.command.empty()) {
    out["Cmd"] = spec.command;
  }
  if (!spec.user.empty()) {
    out["User"] = spec.user;
  }
  if (about.name == "podman" && !spec.check.empty()) {
    out["Healthcheck"] = podman_check(spec.check);
  } else if (without_health_check) {
    out["Healthcheck"] = {{"Test", {"NONE"}}};
  }
  try {
    return out.dump();
  } catch (const json::exception&) {
    return fail(Code::InvalidArgument,
                fmt::format("container {}: what is not UTF-8 cannot be told to the engine",
                            printable(spec.name)));
  }
}

}  // namespace mesh::engine
