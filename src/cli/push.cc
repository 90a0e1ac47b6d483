#include "controller/push.h"
#include "controller/bring_images.h"
#include "controller/nodes.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/changes.h"
#include "cli/declarations.h"
#include "cli/mirror_progress.h"
#include "cli/verbs.h"

namespace mesh::cli {

namespace {

constexpr std::chrono::milliseconds kPushTimeout{600'000};

Json node_document(const controller::NodeStanding& node) {
  return {{"name", node.name},
          {"state", node.state},
          {"number", node.number ? Json(*node.number) : Json(nullptr)},
          {"because", node.because.empty() ? Json(nullptr) : Json(node.because)}};
}

/// The last lines of what failed there.
std::string failure_lines(const controller::NodeStanding& node) {
  std::string out;
  for (const auto& module :
       node.report ? node.report->modules : std::vector<declaration::ModuleReport>()) {
    for (const auto& component : module.components) {
      for (const auto& line : component.last_lines) {
        out += fmt::format("  {} {}.{} | {}\n", node.name, module.name, component.name,
                           printable(line, 400));
      }
    }
  }
  return out;
}

/// How the nodes stand in the end: a line each, and the exit code.
void add_nodes(Outcome& outcome, const std::vector<controller::NodeStanding>& nodes, bool waited) {
  for (const auto& node : nodes) {
    outcome.document["nodes"].push_back(node_document(node));
    const bool bad = node.state == "failed" || node.state == "silent";
    if (node.state == "unknown") {
      continue;
    }
    outcome.text += fmt::format("{}: {}{}\n", node.name, node.state,
                                node.because.empty() ? "" : ", " + node.because);
    if (bad && waited) {
      outcome.diagnostics += failure_lines(node);
    }
    if (waited && (bad || node.state == "converging")) {
      outcome.exit = exit_code::kFailed;
    }
  }
}

Outcome pushed(const controller::PushReport& report) {
  Outcome outcome;
  outcome.acted = true;
  outcome.document = Json{
      {"number", report.number},     {"digest", report.digest},
      {"reloaded", report.reloaded}, {"machines", report.machines},
      {"modules", report.modules},   {"writes", report.writes},
      {"nodes", Json::array()},      {"after_restart", after_restart_json(report.after_restart)},
      {"notes", report.notes}};
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

/// Waits for the nodes that it is to wait for, and tells how all of them stand.
Result<std::vector<controller::NodeStanding>> nodes_after(Context& context,
                                                          const Declarations& declared,
                                                          inventory::State& state,
                                                          const Arguments& arguments,
                                                          controller::Steps& steps) {
  std::vector<std::string> wait;
  if (const auto one = arguments.value("--node")) {
    wait.push_back(*one);
  } else if (!arguments.flag("--no-wait")) {
    for (const auto& node : declared.mesh().nodes) {
      wait.push_back(node.name.text());
    }
  }
  return controller::wait_for_nodes(state, declared.location, declared.mesh(),
                                    arguments.flag("--no-wait") ? std::vector<std::string>() : wait,
                                    {context.clock, context.random}, steps);
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
  options.ask_for_images = [&](const std::vector<inventory::PushImage>& images) {
    return controller::images_gone(state, declared.mesh(), declared.location.root, images, services,
                                   context.interrupt.descriptor());
  };
  MESH_TRY(const auto report, controller::push(state, declared.location, declared.reading, options,
                                               {context.clock, context.random}, steps));
  if (!report.changes.empty() && !context.json) {
    context.console.err(changes_text(report.changes));
  }
  auto outcome = pushed(report);
  MESH_TRY(const auto nodes, nodes_after(context, declared, state, arguments, steps));
  const bool waited = !arguments.flag("--no-wait");
  add_nodes(outcome, nodes, waited);
  return outcome;
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
