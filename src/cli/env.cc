#include <fmt/format.h>

#include "cli/declarations.h"
#include "cli/verbs.h"
#include "controller/bus_link.h"
#include "controller/credentials.h"
#include "controller/environment.h"

namespace mesh::cli {

namespace {

/// As a shell reads it back: quoted only where it must be.
std::string shell_word(std::string_view value) {
  static constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,=@%+";
  if (!value.empty() && value.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(value);
  }
  if (value.empty()) {
    return {};
  }
  std::string out = "'";
  for (const char c : value) {
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return out + "'";
}

Outcome printed(const controller::Variables& variables) {
  Outcome outcome;
  outcome.document = Json{{"env", Json::object()}};
  for (const auto& [name, value] : variables) {
    outcome.text += fmt::format("{}={}\n", name, shell_word(value));
    outcome.document["env"][name] = value;
  }
  return outcome;
}

/// A module whose part was chosen for the operator is told of.
void say_which(const Context& context, const controller::Part& part, bool chosen) {
  if (!chosen && part.module->file->components.size() > 1) {
    context.say(
        fmt::format("module {} has several components; this is {} (--component takes another)",
                    part.module->name.text(), part.component->name.text()));
  }
}

Status ensure_credential(const Context& context, inventory::State& state, const std::string& name) {
  const std::vector<std::string> users = {name};
  MESH_TRY(const auto issued,
           controller::issue_credentials(state, users, "env", {context.clock, context.random}));
  if (!issued.empty()) {
    context.say(
        fmt::format("issued a credential for {}; the bus learns of it at the next push", name));
  }
  return {};
}

constexpr bus::Milliseconds kAskedFor{1500};

/// Whoever else is connected as this instance gets a share of its events. Asked where the bus runs;
/// that it does not is no failure of this verb.
void warn_connected(const Context& context, inventory::State& state, const Declarations& declared,
                    const std::string& name) {
  auto link = controller::connect_bus(state, declared.mesh(), declared.location.root,
                                      std::min(kAskedFor, context.timeout.value_or(kAskedFor)));
  if (!link) {
    return;
  }
  bus::SystemAccount system(link->system, kAskedFor);
  const auto clients = system.clients(name);
  if (clients && !clients->empty()) {
    context.say(fmt::format(
        "warning: {} is connected already, from {}; each event goes to one of them, never to both",
        name, clients->front().address));
  }
}

Result<Outcome> run_env(Context& context, const Arguments& arguments) {
  const auto name = arguments.positional("INSTANCE").value_or("");
  const auto component = arguments.value("--component");
  MESH_TRY(const auto declared, declarations(context));
  MESH_TRY(const auto part, controller::find_part(declared.mesh(), name, component));
  MESH_TRY(auto state, open_state(context, declared));
  say_which(context, part, component.has_value());
  MESH_CHECK(ensure_credential(context, state, name));
  MESH_TRY(const auto prepared,
           controller::prepare_environment(state, declared.mesh(), part, declared.location.root));
  warn_connected(context, state, declared, name);
  if (arguments.command().empty()) {
    MESH_TRY(const auto shown,
             controller::shown_variables(controller::PartFiles(state.paths, part), prepared));
    return printed(shown);
  }
  Outcome outcome;
  outcome.exec =
      Exec{arguments.command(), {prepared.variables.begin(), prepared.variables.end()}, {}};
  if (!prepared.variables.contains("MESH_CA_FILE")) {
    outcome.exec->removed.emplace_back("MESH_CA_FILE");  // one that the caller had is another bus's
  }
  return outcome;
}

}  // namespace

Verb env_verb() {
  return {{.name = "env",
           .summary = "the environment of an instance: printed, or given to a command",
           .example = "mesh env two.shop\nmesh env two.shop -- node server.js",
           .positionals =
               {{"INSTANCE", "a module on a node, as two.shop", PositionalSpec::Count::One, {}}},
           .options = {{"--component", "NAME", "the component, of a module that has several"}},
           .takes_command = true},
          run_env};
}

}  // namespace mesh::cli
