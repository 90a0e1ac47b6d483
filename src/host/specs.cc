#include "host/specs.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/text.h"

namespace mesh::host {

namespace {

constexpr const char* kInContainer = "/run/mesh";
constexpr std::size_t kGenerationDigits = 16;

Result<std::string> value_of(const declaration::Values& values, const declaration::Sealed& sealed) {
  const auto found = values.find(sealed.name);
  if (found == values.end()) {
    return fail(
        Code::Corrupt,
        fmt::format("the declaration names the value {} and does not have it", sealed.name));
  }
  return std::string(found->second.reveal());
}

Result<std::map<std::string, std::string>> files_of(const Opened& opened,
                                                    const declaration::Module& module,
                                                    const declaration::Component& component) {
  std::map<std::string, std::string> out;
  MESH_TRY(out["password"], value_of(opened.values, module.password));
  MESH_TRY(out["key"], value_of(opened.values, module.key));
  out["tools.json"] = module.tools;
  if (!opened.declaration.bus.ca.empty()) {
    out["ca.pem"] = opened.declaration.bus.ca;
  }
  for (const auto& [name, sealed] : component.secrets) {
    MESH_TRY(out["secrets/" + name], value_of(opened.values, sealed));
  }
  return out;
}

std::vector<std::string> urls_for(const Opened& opened, const declaration::Component& component,
                                  const Premises& place) {
  const bool bridge = !component.image.empty() && component.network == "bridge";
  return bridge && !place.bridge_urls.empty() ? place.bridge_urls : opened.declaration.bus.urls;
}

Result<std::map<std::string, std::string>> environment_of(const Opened& opened,
                                                          const declaration::Module& module,
                                                          const declaration::Component& component,
                                                          const Premises& place,
                                                          const std::string& files) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(component.grace).count();
  std::map<std::string, std::string> out = {
      {"MESH_BUS", join(urls_for(opened, component, place), ",")},
      {"MESH_USER", module.user},
      {"MESH_PASSWORD_FILE", files + "/password"},
      {"MESH_INBOX", module.inbox},
      {"MESH_NODE", opened.declaration.node},
      {"MESH_MODULE", module.name},
      {"MESH_COMPONENT", component.name},
      {"MESH_CONSUMER", module.consumer},
      {"MESH_SEATS", module.seats},
      {"MESH_KEY_FILE", files + "/key"},
      {"MESH_SECRETS", files + "/secrets"},
      {"MESH_TOOLS_FILE", files + "/tools.json"},
      {"MESH_GRACE_SECONDS", std::to_string(seconds)}};
  if (!opened.declaration.bus.ca.empty()) {
    out["MESH_CA_FILE"] = files + "/ca.pem";
  }
  for (const auto& [name, value] : component.env) {
    if (!value.sealed) {
      out[name] = value.text;
      continue;
    }
    MESH_TRY(out[name], value_of(opened.values, *value.sealed));
  }
  return out;
}

/// Over all that decides how it runs. Of the image its digest counts, not where it is pulled from;
/// of its files what is in them.
std::string generation_of(const declaration::Component& component,
                          const std::map<std::string, std::string>& environment,
                          const std::map<std::string, std::string>& files,
                          const std::string& directory) {
  auto text = declaration::to_json(component);
  text["image"] = component.image.substr(component.image.find('@') + 1);
  text["env"] = nullptr;
  auto variables = nlohmann::json::object();
  for (const auto& [name, value] : environment) {
    // Where the files lie follows from the generation itself.
    const auto shown = value.starts_with(directory) ? value.substr(directory.size()) : value;
    variables[name] = sha256_hex(shown);
  }
  auto contents = nlohmann::json::object();
  for (const auto& [name, bytes] : files) {
    contents[name] = sha256_hex(bytes);
  }
  text["environment"] = std::move(variables);
  text["contents"] = std::move(contents);
  return sha256_hex(text.dump()).substr(0, kGenerationDigits);
}

Result<ReadyUnit> ready_unit(const Opened& opened, const declaration::Module& module,
                             const declaration::Component& component, const Premises& place) {
  ReadyUnit out;
  const bool contained = !component.image.empty();
  MESH_TRY(out.files, files_of(opened, module, component));
  const std::string unnamed = contained ? kInContainer : place.files + "/";
  // By which address a container reaches the bus is this machine's affair, not the declaration's.
  MESH_TRY(const auto draft,
           environment_of(opened, module, component, {place.files, place.checkout, {}}, unnamed));
  const auto generation = generation_of(component, draft, out.files, unnamed);
  out.spec.name = {module.name, component.name, generation};
  out.spec.component = component;
  out.spec.files = fmt::format("{}/{}.{}.{}", place.files, module.name, component.name, generation);
  MESH_TRY(out.spec.environment,
           environment_of(opened, module, component, place,
                          contained ? std::string(kInContainer) : out.spec.files));
  if (!contained && !place.checkout.empty()) {
    out.spec.folder = place.checkout + "/" + module.path;
  }
  return out;
}

}  // namespace

Result<ReadyModule> ready_module(const Opened& opened, const declaration::Module& module,
                                 const Premises& place) {
  ReadyModule out;
  out.wanted.name = module.name;
  for (const auto& component : module.components) {
    MESH_TRY(auto unit, ready_unit(opened, module, component, place));
    out.wanted.components.push_back({component.name, unit.spec.name.generation, component.image,
                                     component.after, component.excludes_itself()});
    out.units.emplace(unit.spec.name, std::move(unit));
  }
  return out;
}

}  // namespace mesh::host
