#include "declaration/declaration.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/json_text.h"
#include "declaration/fields.h"

namespace mesh::declaration {

using nlohmann::json;

namespace {

json module_json(const Module& module) {
  json components = json::array();
  for (const auto& component : module.components) {
    components.push_back(to_json(component));
  }
  return {{"name", module.name},         {"path", module.path},
          {"user", module.user},         {"inbox", module.inbox},
          {"consumer", module.consumer}, {"seats", module.seats},
          {"tools", module.tools},       {"password", module.password.name},
          {"key", module.key.name},      {"components", std::move(components)}};
}

Result<Module> module_from(const json& object) {
  Module out;
  Fields fields(object, "a module");
  out.name = fields.text("name");
  out.path = fields.text("path");
  out.user = fields.text("user");
  out.inbox = fields.text("inbox");
  out.consumer = fields.text("consumer");
  out.seats = fields.text("seats");
  out.tools = fields.text("tools");
  out.password.name = fields.text("password");
  out.key.name = fields.text("key");
  for (const auto& entry : fields.array("components")) {
    auto component = component_from_json(entry);
    if (!component) {
      return within("module " + out.name, std::move(component).error());
    }
    out.components.push_back(*std::move(component));
  }
  MESH_CHECK(fields.done());
  return out;
}

json next_key_json(const std::optional<NextKey>& next) {
  return next ? json{{"key", base64(next->key)}, {"signature", base64(next->signature)}} : json();
}

json declaration_json(const Declaration& declaration) {
  json modules = json::array();
  for (const auto& module : declaration.modules) {
    modules.push_back(module_json(module));
  }
  return {{"format", declaration.format},
          {"mesh", declaration.mesh},
          {"node", declaration.node},
          {"number", declaration.number},
          {"bus", {{"urls", declaration.bus.urls}, {"ca", declaration.bus.ca}}},
          {"registry",
           {{"address", declaration.registry.address},
            {"ca", declaration.registry.ca},
            {"insecure", declaration.registry.insecure},
            {"login", declaration.registry.login}}},
          {"modules", std::move(modules)},
          {"next_key", next_key_json(declaration.next_key)},
          {"sealed", base64(declaration.sealed)}};
}

Status check_format(const json& document) {
  const auto format =
      document.is_object() && document.contains("format") && document["format"].is_number_integer()
          ? document["format"].get<std::int64_t>()
          : 0;
  if (format < 1) {
    return fail(Code::Corrupt, "the declaration has no format");
  }
  if (format > kFormat) {
    return fail(
        Code::Unsupported,
        fmt::format("the declaration has format {}, and this mesh-host knows {} and the one "
                    "before",
                    format, kFormat),
        "a newer mesh-host understands it");
  }
  return {};
}

}  // namespace

std::string password_name(const std::string& module) {
  return module + "/password";
}
std::string key_name(const std::string& module) {
  return module + "/key";
}
std::string secret_name(const std::string& module, const std::string& secret) {
  return module + "/secret/" + secret;
}

std::string write(const Declaration& declaration) {
  return declaration_json(declaration).dump();
}

Result<Declaration> read(std::string_view bytes) {
  MESH_TRY(const auto document, parse_json(bytes, {.bytes = kLargest, .depth = 16}));
  MESH_CHECK(check_format(document));
  Declaration out;
  Fields fields(document, "the declaration");
  out.format = static_cast<int>(fields.integer("format"));
  out.mesh = fields.text("mesh");
  out.node = fields.text("node");
  out.number = fields.integer("number");
  Fields bus(fields.object("bus"), "`bus`");
  out.bus = {bus.texts("urls"), bus.text("ca")};
  MESH_CHECK(bus.done());
  Fields registry(fields.object("registry"), "`registry`");
  out.registry.address = registry.text("address");
  out.registry.ca = registry.text("ca");
  out.registry.insecure = registry.flag("insecure");
  out.registry.login = registry.flag("login");
  MESH_CHECK(registry.done());
  for (const auto& entry : fields.array("modules")) {
    MESH_TRY(auto module, module_from(entry));
    out.modules.push_back(std::move(module));
  }
  if (const auto* next = fields.optional("next_key")) {
    Fields key(*next, "`next_key`");
    out.next_key = NextKey{key.bytes("key"), key.bytes("signature")};
    MESH_CHECK(key.done());
  }
  out.sealed = fields.bytes("sealed");
  MESH_CHECK(fields.done());
  return out;
}

secrets::Secret write_values(const Values& values) {
  json object = json::object();
  for (const auto& [name, value] : values) {
    object[name] = base64(value.reveal());
  }
  auto text = object.dump();
  return secrets::Secret::take(text);
}

Result<Values> read_values(const secrets::Secret& text) {
  MESH_TRY(const auto document, parse_json(text.reveal(), {.bytes = 2 * kLargest, .depth = 4}));
  Values out;
  if (!document.is_object()) {
    return fail(Code::Corrupt, "the sealed values are no table");
  }
  for (const auto& [name, entry] : document.items()) {
    auto bytes =
        entry.is_string() ? from_base64(entry.get_ref<const std::string&>()) : std::nullopt;
    if (!bytes) {
      return fail(Code::Corrupt, "a sealed value is not in base 64");
    }
    out.emplace(name, secrets::Secret::take(*bytes));
  }
  return out;
}

}  // namespace mesh::declaration
