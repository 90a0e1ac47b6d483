#include <fmt/format.h>

#include "cli/changes.h"
#include "cli/declarations.h"
#include "cli/verbs.h"
#include "controller/planning.h"

namespace mesh::cli {

namespace {

constexpr std::chrono::milliseconds kPlanTimeout{60'000};

Result<Outcome> run_plan(Context& context, const Arguments& arguments) {
  MESH_TRY(const auto declared, declarations(context));
  MESH_TRY(auto state, open_state(context, declared));
  controller::OperatorSteps steps(context.interrupt, context.timeout.value_or(kPlanTimeout),
                                  [&](std::string_view line) { context.say(line); });
  MESH_TRY(auto link, controller::connect_bus(state, declared.mesh(), declared.location.root,
                                              controller::at_most(controller::kBusTimeout, steps)));
  const registry::Services services{context.clock, context.random, context.variable};
  const auto ask = [&](const std::vector<inventory::PushImage>& images) {
    return controller::images_gone(state, declared.mesh(), declared.location.root, images, services,
                                   context.interrupt.descriptor());
  };
  const controller::PlanRequest request{
      declared.location,   declared.reading, arguments.flag("--adopt"),
      context.clock.now(), nullptr,          ask};
  MESH_TRY(const auto plan, controller::make_plan(state, request, link, steps));
  Outcome outcome;
  outcome.document = Json{{"digest", plan.digest},
                          {"number", plan.number},
                          {"changes", changes_json(plan.changes)},
                          {"after_restart", after_restart_json(plan.after_restart)},
                          {"notes", plan.notes}};
  outcome.diagnostics = after_restart_text(plan.after_restart);
  for (const auto& note : plan.notes) {
    outcome.diagnostics += "note: " + note + "\n";
  }
  outcome.text = changes_text(plan.changes) + "plan " + plan.digest + "\n";
  if (const auto pushable = controller::check_pushable(state, declared.mesh()); !pushable) {
    outcome.diagnostics += "a push would be refused: " + error_text(pushable.error(), false);
  }
  if (plan.file.exists && !plan.file.view) {
    outcome.diagnostics +=
        fmt::format("note: {} cannot be read, so that all of it is written anew\n", plan.file.path);
  }
  if (arguments.flag("--detailed-exitcode") && !plan.changes.empty()) {
    outcome.exit = exit_code::kChanges;
  }
  return outcome;
}

}  // namespace

Verb plan_verb() {
  return {{.name = "plan",
           .summary = "what a push would change; changes nothing",
           .example = "mesh plan\nmesh plan --json | jq -r .digest",
           .positionals = {},
           .options = {{"--detailed-exitcode", "", "exit 2 where there are changes"},
                       {"--adopt", "", "as `push --adopt` would"}}},
          run_plan};
}

}  // namespace mesh::cli
