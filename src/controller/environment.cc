#include "controller/environment.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "model/subjects.h"

namespace mesh::controller {

namespace {

using Json = nlohmann::ordered_json;

std::string consumer(const Part& part) {
  if (part.module->file->consumes.empty()) {
    return {};
  }
  return fmt::format("{}.{}", model::kEvents, model::instance_consumer(part.instance()));
}

std::string seats(const model::Module& module) {
  std::vector<std::string> held;
  for (const auto& seat : module.file->holds) {
    held.push_back(fmt::format("{}={}.{}", seat.value.text(), model::seat_stream(seat.value),
                               model::seat_consumer(seat.value)));
  }
  std::ranges::sort(held);
  return join(held, ",");
}

std::string component_name(const Part& part) {
  return part.component == nullptr ? std::string() : part.component->name.text();
}

constexpr model::Milliseconds kGrace{10'000};  // of a module that is run by something else

std::string grace_seconds(const Part& part) {
  const auto grace = part.component == nullptr ? kGrace : part.component->grace;
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(grace).count());
}

Json tool_json(const model::Module& module, const model::Tool& tool) {
  Json input;
  if (tool.input_schema) {
    input = Json::parse(*tool.input_schema, nullptr, /*allow_exceptions=*/false);
  }
  return {{"name", tool.name.text()},
          {"subject", model::tool_subject(module.name, tool.name)},
          {"description", tool.description},
          {"input", input.is_discarded() ? Json(nullptr) : input},
          {"timeout_seconds", static_cast<double>(tool.timeout.count()) / 1000}};
}

std::vector<std::string> instance_names(const model::Mesh& mesh) {
  std::vector<std::string> names;
  for (const auto& module : mesh.modules) {
    for (const auto& node : module.on) {
      names.push_back(model::InstanceName{node, module.name}.text());
    }
  }
  std::ranges::sort(names);
  return names;
}

std::unexpected<Error> no_instance(const model::Mesh& mesh, std::string_view instance) {
  const auto names = instance_names(mesh);
  const auto meant = nearest(instance, names);
  auto hint = std::string("an instance is named node.module");
  if (!meant.empty()) {
    hint = fmt::format("did you mean {}?", meant);
  } else if (!names.empty() && names.size() <= 12) {
    hint = fmt::format("there are {}", join(names, ", "));
  }
  return fail(Code::NotFound, fmt::format("there is no instance '{}'", printable(instance)), hint);
}

Result<const model::Component*> find_component(const model::Module& module,
                                               const std::optional<std::string>& component) {
  const auto& all = module.file->components;
  if (!component) {
    return all.empty() ? nullptr : &all.front();
  }
  std::vector<std::string> names;
  for (const auto& each : all) {
    if (each.name.text() == *component) {
      return &each;
    }
    names.push_back(each.name.text());
  }
  return fail(
      Code::NotFound,
      fmt::format("module {} has no component '{}'", module.name.text(), printable(*component)),
      names.empty() ? "it has no components" : fmt::format("it has {}", join(names, ", ")));
}

}  // namespace

Result<Part> find_part(const model::Mesh& mesh, std::string_view instance,
                       const std::optional<std::string>& component) {
  for (const auto& module : mesh.modules) {
    for (const auto& node : module.on) {
      if (model::InstanceName{node, module.name}.text() == instance) {
        MESH_TRY(const auto* found, find_component(module, component));
        return Part{mesh.node(node.text()), &module, found};
      }
    }
  }
  return no_instance(mesh, instance);
}

PartFiles::PartFiles(const inventory::StatePaths& paths, const Part& part)
    : directory_(paths.environments() + "/" + part.instance().text()) {
  const auto suffix = part.component == nullptr ? "" : "." + part.component->name.text();
  secrets_ = directory_ + "/secrets" + suffix;
  variables_ = directory_ + "/variables" + suffix;
}

Variables mesh_variables(const model::Mesh& mesh, const Part& part, const PartFiles& files,
                         const std::string& root) {
  Variables out = {{"MESH_BUS", join(mesh.bus_urls(*part.node), ",")},
                   {"MESH_USER", part.instance().text()},
                   {"MESH_PASSWORD_FILE", files.password()},
                   {"MESH_INBOX", model::inbox_prefix(part.instance())},
                   {"MESH_NODE", part.node->name.text()},
                   {"MESH_MODULE", part.module->name.text()},
                   {"MESH_COMPONENT", component_name(part)},
                   {"MESH_CONSUMER", consumer(part)},
                   {"MESH_SEATS", seats(*part.module)},
                   {"MESH_KEY_FILE", files.key()},
                   {"MESH_SECRETS", files.secrets()},
                   {"MESH_TOOLS_FILE", files.tools()},
                   {"MESH_GRACE_SECONDS", grace_seconds(part)}};
  if (mesh.bus.tls()) {
    out["MESH_CA_FILE"] = files.authority();
  } else if (mesh.bus.ca) {
    out["MESH_CA_FILE"] = (std::filesystem::path(root) / *mesh.bus.ca).lexically_normal().string();
  }
  return out;
}

std::string tools_document(const model::Module& module) {
  Json document{{"tools", Json::array()}};
  for (const auto& tool : module.file->tools) {
    document["tools"].push_back(tool_json(module, tool));
  }
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

model::Env declared_variables(const Part& part) {
  model::Env env = part.node->env;
  // `insert` keeps what is there, so the strongest comes first.
  env.insert(part.module->env.begin(), part.module->env.end());
  if (part.component != nullptr) {
    env.insert(part.component->env.begin(), part.component->env.end());
  }
  return env;
}

}  // namespace mesh::controller
