#include "declaration/report.h"

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/json_text.h"
#include "declaration/fields.h"

namespace mesh::declaration {

using nlohmann::json;

namespace {

constexpr std::size_t kLargestReport = std::size_t{1} << 20U;

json component_json(const ComponentReport& component) {
  return {{"component", component.name},
          {"state", component.state},
          {"digest", component.digest},
          {"restarts", component.restarts},
          {"since", component.since},
          {"because", component.because},
          {"last_lines", component.last_lines},
          {"ports", component.ports},
          {"pid", component.pid}};
}

json module_report_json(const ModuleReport& module) {
  json components = json::array();
  for (const auto& component : module.components) {
    components.push_back(component_json(component));
  }
  return {{"module", module.name},
          {"converged", module.converged},
          {"failed", module.failed},
          {"because", module.because},
          {"components", std::move(components)}};
}

json join_json(const std::optional<JoinRequest>& join) {
  return join ? json{{"key", base64(join->key.bytes())}, {"proof", base64(join->proof)}} : json();
}

Result<ComponentReport> component_report_from(const json& object) {
  ComponentReport out;
  Fields fields(object, "a component");
  out.name = fields.text("component");
  out.state = fields.text("state");
  out.digest = fields.text("digest");
  out.restarts = static_cast<int>(fields.integer("restarts"));
  out.since = fields.text("since");
  out.because = fields.text("because");
  out.last_lines = fields.texts("last_lines");
  out.ports = fields.texts("ports");
  out.pid = fields.integer("pid");
  MESH_CHECK(fields.done());
  return out;
}

Result<ModuleReport> module_report_from(const json& object) {
  ModuleReport out;
  Fields fields(object, "a module");
  out.name = fields.text("module");
  out.converged = fields.flag("converged");
  out.failed = fields.flag("failed");
  out.because = fields.text("because");
  for (const auto& entry : fields.array("components")) {
    MESH_TRY(auto component, component_report_from(entry));
    out.components.push_back(std::move(component));
  }
  MESH_CHECK(fields.done());
  return out;
}

Result<JoinRequest> join_from(const json& object) {
  Fields fields(object, "`join`");
  const auto bytes = fields.bytes("key");
  auto proof = fields.bytes("proof");
  MESH_CHECK(fields.done());
  MESH_TRY(auto key, secrets::PublicKey::from_bytes(bytes));
  return JoinRequest{std::move(key), std::move(proof)};
}

}  // namespace

std::string write(const Report& report) {
  json modules = json::array();
  for (const auto& module : report.modules) {
    modules.push_back(module_report_json(module));
  }
  const json document = {{"mesh", report.mesh},
                         {"node", report.node},
                         {"incarnation", report.incarnation},
                         {"sequence", report.sequence},
                         {"time", report.time},
                         {"key", report.key},
                         {"number", report.number},
                         {"converged", report.converged},
                         {"platform", report.platform},
                         {"version", report.version},
                         {"engine", report.engine},
                         {"modules", std::move(modules)},
                         {"refused", report.refused ? json{{"code", report.refused->code},
                                                           {"because", report.refused->because}}
                                                    : json()},
                         {"join", join_json(report.join)}};
  // What a module printed may be any bytes.
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<Report> read_report(std::string_view bytes) {
  MESH_TRY(const auto document, parse_json(bytes, {.bytes = kLargestReport, .depth = 10}));
  Report out;
  Fields fields(document, "the report");
  out.mesh = fields.text("mesh");
  out.node = fields.text("node");
  out.incarnation = fields.text("incarnation");
  out.sequence = static_cast<std::uint64_t>(fields.integer("sequence"));
  out.time = fields.text("time");
  out.key = fields.text("key");
  out.number = fields.integer("number");
  out.converged = fields.flag("converged");
  out.platform = fields.text("platform");
  out.version = fields.text("version");
  out.engine = fields.text("engine");
  for (const auto& entry : fields.array("modules")) {
    MESH_TRY(auto module, module_report_from(entry));
    out.modules.push_back(std::move(module));
  }
  if (const auto* refused = fields.optional("refused")) {
    Fields refusal(*refused, "`refused`");
    out.refused = Refusal{refusal.text("code"), refusal.text("because")};
    MESH_CHECK(refusal.done());
  }
  if (const auto* join = fields.optional("join")) {
    MESH_TRY(out.join, join_from(*join));
  }
  MESH_CHECK(fields.done());
  return out;
}

}  // namespace mesh::declaration
