#include <fmt/format.h>

#include "base/text.h"
#include "cli/declarations.h"
#include "cli/verbs.h"
#include "inventory/inventory.h"

namespace mesh::cli {

namespace {

using inventory::SecretName;

Json module_json(const SecretName& name) {
  return name.module.empty() ? Json(nullptr) : Json(name.module);
}

Json name_json(const SecretName& name) {
  return {{"module", module_json(name)}, {"name", name.name}};
}

std::string owner_text(const SecretName& name) {
  return name.module.empty() ? "the mesh" : "module " + name.module;
}

/// `[MODULE] NAME`: of two words the first is the module, one word alone is the name.
Result<SecretName> named(const Arguments& arguments) {
  const auto first = arguments.positional("MODULE");
  const auto second = arguments.positional("NAME");
  if (!first) {
    return fail(Code::Usage, "NAME is missing: the secret's name", "see `mesh secret --help`");
  }
  return second ? SecretName{*first, *second} : SecretName{"", *first};
}

Status check_module(const model::Mesh& mesh, const std::string& module) {
  if (module.empty() || mesh.module(module) != nullptr) {
    return {};
  }
  std::vector<std::string> names;
  for (const auto& each : mesh.modules) {
    names.push_back(each.name.text());
  }
  const auto meant = nearest(module, names);
  return fail(Code::NotFound, fmt::format("there is no module '{}'", printable(module)),
              meant.empty() ? "without a module the secret is the whole mesh's"
                            : fmt::format("did you mean {}?", meant));
}

Outcome about(const SecretName& name, std::string_view what) {
  Outcome outcome;
  outcome.text = fmt::format("{} {} of {}\n", what, name.name, owner_text(name));
  outcome.document = Json{{"secret", name_json(name)}};
  return outcome;
}

/// A name that cannot be one is a wrong command line, not a wrong file.
Error as_usage(Error error) {
  if (error.code == Code::InvalidArgument) {
    error.code = Code::Usage;
  }
  return error;
}

/// What of a value is worth a word.
std::string note_of_value(const secrets::Secret& value) {
  if (value.empty()) {
    return "note: the value is empty\n";
  }
  return value.reveal().find('\0') == std::string_view::npos
             ? std::string()
             : "note: the value holds a NUL byte: a file can hold it (secrets = [...]), a variable "
               "cannot\n";
}

Result<Outcome> set(Context& context, const Declarations& declared, inventory::State& state,
                    const Arguments& arguments) {
  MESH_TRY(const auto name, named(arguments));
  MESH_CHECK(check_module(declared.mesh(), name.module));
  if (context.console.in_is_terminal()) {
    context.say("type the value and end it with Ctrl-D; it is kept byte for byte");
  }
  MESH_TRY(auto bytes, context.console.in(inventory::kLargestSecret));
  const auto value = secrets::Secret::take(bytes);
  if (auto kept = state.inventory.set_secret(name, value); !kept) {
    return std::unexpected(as_usage(std::move(kept).error()));
  }
  auto outcome = about(name, "set");
  outcome.diagnostics = note_of_value(value) + "`mesh push` brings it to what uses it\n";
  return outcome;
}

Result<Outcome> remove(inventory::State& state, const Arguments& arguments) {
  MESH_TRY(const auto name, named(arguments));
  MESH_CHECK(state.inventory.remove_secret(name));
  return about(name, "removed");
}

Result<Outcome> list(inventory::State& state, const Arguments& arguments) {
  const auto module = arguments.positional("MODULE");
  MESH_TRY(const auto secrets, state.inventory.secrets());
  Outcome outcome;
  outcome.document = Json{{"secrets", Json::array()}};
  for (const auto& secret : secrets) {
    if (module && *module != secret.name.module) {
      continue;
    }
    auto entry = name_json(secret.name);
    entry["set"] = secret.set_at;
    outcome.document["secrets"].push_back(std::move(entry));
    outcome.text += fmt::format("{:<32} {:<24} set {}\n", secret.name.name, owner_text(secret.name),
                                secret.set_at);
  }
  return outcome;
}

Result<Outcome> run_secret(Context& context, const Arguments& arguments) {
  const auto action = arguments.positional("ACTION").value_or("");
  MESH_TRY(const auto declared, declarations(context));
  MESH_TRY(auto state, open_state(context, declared));
  if (action == "set") {
    return set(context, declared, state, arguments);
  }
  return action == "remove" ? remove(state, arguments) : list(state, arguments);
}

}  // namespace

Verb secret_verb() {
  using Count = PositionalSpec::Count;
  return {{.name = "secret",
           .summary = "keeps values that modules need and nobody may see",
           .example = "printf %s \"$KEY\" | mesh secret set shop STRIPE_KEY\nmesh secret list\n"
                      "mesh secret remove shop STRIPE_KEY",
           .positionals =
               {{"ACTION",
                 "set (the value comes from stdin, byte for byte), list or remove",
                 Count::One,
                 {"set", "list", "remove"}},
                {"MODULE", "whose secret it is; without it the whole mesh's", Count::Optional, {}},
                {"NAME", "the secret's name, as STRIPE_KEY", Count::Optional, {}}},
           .options = {}},
          run_secret};
}

}  // namespace mesh::cli
