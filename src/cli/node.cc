#include <fmt/format.h>

#include "base/text.h"
#include "cli/declarations.h"
#include "cli/verbs.h"
#include "controller/nodes.h"

namespace mesh::cli {

namespace {

constexpr std::chrono::milliseconds kNodeTimeout{60'000};

Result<std::string> name_of(const Arguments& arguments) {
  const auto name = arguments.positional("NAME");
  if (!name) {
    return fail(Code::Usage, "NAME is missing: the node's name", "see `mesh node --help`");
  }
  return *name;
}

Result<Outcome> add_node(Context& context, const Declarations& declared, inventory::State& state,
                         const std::string& node, controller::Steps& steps) {
  MESH_TRY(const auto invited,
           controller::invite_node(state, declared.location, declared.mesh(), node,
                                   {context.clock, context.random}, steps));
  Outcome outcome;
  const std::string token(invited.token.reveal());
  outcome.document = Json{{"node", node}, {"token", token}, {"expires", invited.expires}};
  outcome.text = token + "\n";
  outcome.diagnostics =
      fmt::format("shown once; on the machine, until {}: mesh-host join TOKEN\n", invited.expires);
  if (!invited.note.empty()) {
    outcome.diagnostics += "note: " + invited.note + "\n";
  }
  return outcome;
}

Result<Outcome> remove_node(Context& context, const Declarations& declared, inventory::State& state,
                            const std::string& node, controller::Steps& steps) {
  MESH_TRY(const bool removed, controller::withdraw_node(state, declared.location, node,
                                                         {context.clock, context.random}, steps));
  if (!removed) {
    return fail(Code::NotFound,
                fmt::format("no machine has joined as {}, and none is invited", printable(node)));
  }
  Outcome outcome;
  outcome.document = Json{{"node", node}};
  outcome.text = fmt::format("{}: its machine's key and password hold no more\n", node);
  outcome.diagnostics =
      "what runs on that machine goes on; there, `mesh-host stop --all` ends it\n";
  return outcome;
}

Result<Outcome> list_nodes(const Declarations& declared, inventory::State& state) {
  MESH_TRY(const auto records, state.inventory.nodes());
  Outcome outcome;
  outcome.document = Json{{"nodes", Json::array()}};
  for (const auto& node : declared.mesh().nodes) {
    const auto found = std::ranges::find(records, node.name.text(), &inventory::NodeRecord::name);
    const bool known = found != records.end();
    const auto joined = known ? found->joined : std::nullopt;
    const auto expires =
        known && found->expires
            ? std::optional(os::rfc3339(os::WallTime{std::chrono::seconds{*found->expires}}))
            : std::nullopt;
    outcome.document["nodes"].push_back(
        {{"name", node.name.text()},
         {"joined", joined ? Json(*joined) : Json(nullptr)},
         {"invited_until", expires ? Json(*expires) : Json(nullptr)},
         {"declared", known && found->declared > 0 ? Json(found->declared) : Json(nullptr)}});
    outcome.text += fmt::format("{:<32} {}\n", node.name.text(),
                                joined    ? "joined " + *joined
                                : expires ? "invited until " + *expires
                                          : std::string("no machine"));
  }
  return outcome;
}

Result<Outcome> run_node(Context& context, const Arguments& arguments) {
  const auto action = arguments.positional("ACTION").value_or("");
  MESH_TRY(const auto declared, declarations(context));
  MESH_TRY(auto state, open_state(context, declared));
  if (action == "list") {
    return list_nodes(declared, state);
  }
  MESH_TRY(const auto name, name_of(arguments));
  controller::OperatorSteps steps(context.interrupt, context.timeout.value_or(kNodeTimeout),
                                  [&](std::string_view line) { context.say(line); });
  return action == "add" ? add_node(context, declared, state, name, steps)
                         : remove_node(context, declared, state, name, steps);
}

}  // namespace

Verb node_verb() {
  using Count = PositionalSpec::Count;
  return {{.name = "node",
           .summary = "adds, removes and lists machines",
           .example = "mesh node add two\nmesh node list\nmesh node remove two",
           .positionals = {{"ACTION",
                            "add (prints a token for `mesh-host join`), remove or list",
                            Count::One,
                            {"add", "remove", "list"}},
                           {"NAME", "the node, as mesh.toml declares it", Count::Optional, {}}},
           .options = {},
           .ends_itself = true},
          run_node};
}

}  // namespace mesh::cli
