#include "controller/bring_images.h"
#include "controller/push.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/changes.h"
#include "cli/declarations.h"
#include "cli/mirror_progress.h"
#include "cli/verbs.h"

namespace mesh::cli {

namespace {

constexpr std::chrono::milliseconds kPushTimeout{600'000};

/// No machine reports yet: what runs there is not known to the controller.
Json nodes_json(const model::Mesh& mesh) {
  auto nodes = Json::array();
  for (const auto& node : mesh.nodes) {
    nodes.push_back({{"name", node.name.text()},
                     {"state", "unknown"},
                     {"number", nullptr},
                     {"because", nullptr}});
  }
  return nodes;
}

Outcome pushed(const controller::PushReport& report, const model::Mesh& mesh) {
  Outcome outcome;
  outcome.document = Json{
      {"number", report.number},     {"digest", report.digest},
      {"reloaded", report.reloaded}, {"machines", report.machines},
      {"modules", report.modules},   {"writes", report.writes},
      {"nodes", nodes_json(mesh)},   {"after_restart", after_restart_json(report.after_restart)}};
  outcome.diagnostics = after_restart_text(report.after_restart);
  outcome.text = report.changes.empty()
                     ? fmt::format("nothing to change: push {} is in force\n", report.number)
                     : fmt::format("push {} is in force\n", report.number);
  outcome.text +=
      fmt::format("{} can hear a declaration, {} can hear what they consume\n",
                  counted(report.machines, "machine"), counted(report.modules, "module"));
  for (const auto& note : report.notes) {
    outcome.diagnostics += "note: " + note + "\n";
  }
  return outcome;
}

Status check_node(const Arguments& arguments, const model::Mesh& mesh) {
  const auto name = arguments.value("--node");
  if (name && mesh.node(*name) == nullptr) {
    return fail(Code::NotFound, "no node is called " + *name, "`mesh.toml` declares the nodes");
  }
  return {};
}

Result<Outcome> run_push(Context& context, const Arguments& arguments) {
  MESH_TRY(const auto declared, declarations(context));
  MESH_CHECK(check_node(arguments, declared.mesh()));
  MESH_TRY(auto state, open_state(context, declared));
  controller::OperatorSteps steps(context.interrupt, context.timeout.value_or(kPushTimeout),
                                  [&](std::string_view line) { context.say(line); });
  controller::PushOptions options;
  options.digest = arguments.value("--plan");
  options.yes = arguments.flag("--yes");
  options.adopt = arguments.flag("--adopt");
  options.by = controller::operator_name();
  MirrorProgress progress(context);
  const registry::Services services{context.clock, context.random, context.variable};
  options.bring_images = [&](controller::Steps& work) {
    auto images = controller::bring_images(state, declared.location, declared.mesh(),
                                           {services, progress}, work);
    progress.clear();
    return images;
  };
  MESH_TRY(const auto report, controller::push(state, declared.location, declared.reading, options,
                                               {context.clock, context.random}, steps));
  if (!report.changes.empty() && !context.json) {
    context.console.err(changes_text(report.changes));
  }
  return pushed(report, declared.mesh());
}

}  // namespace

Verb push_verb() {
  return {{.name = "push",
           .summary = "makes the bus what is declared",
           .example = "mesh push\nmesh push --plan \"$(mesh plan --json | jq -r .digest)\"",
           .positionals = {},
           .options = {{"--plan", "DIGEST", "do exactly that plan or, if the world moved, nothing"},
                       {"--node", "NAME", "wait for this node alone"},
                       {"--no-wait", "", "do not wait for the nodes"},
                       {"--yes", "", "also replace or remove what holds messages"},
                       {"--adopt", "", "take over streams and consumers that nobody's mesh made"}},
           .ends_itself = true},
          run_push};
}

}  // namespace mesh::cli
