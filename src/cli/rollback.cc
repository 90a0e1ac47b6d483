#include <fmt/format.h>

#include <charconv>

#include "base/text.h"
#include "cli/changes.h"
#include "cli/declarations.h"
#include "cli/verbs.h"
#include "controller/push.h"
#include "controller/recorded.h"

namespace mesh::cli {

namespace {

constexpr std::chrono::milliseconds kRollbackTimeout{600'000};

/// The push that is asked for; without a number the one before the latest.
Result<inventory::Push> earlier_push(inventory::Inventory& inventory,
                                     const std::optional<std::string>& number) {
  if (!number) {
    MESH_TRY(const auto pushes, inventory.history(2));
    if (pushes.size() < 2) {
      return fail(Code::NotFound, "there is no push before the latest one");
    }
    return pushes[1];
  }
  std::int64_t wanted = 0;
  const auto* const end = number->data() + number->size();
  if (std::from_chars(number->data(), end, wanted).ptr != end || wanted <= 0) {
    return fail(Code::Usage, "a push is named by its number", "`mesh history` lists them");
  }
  MESH_TRY(const auto push, inventory.push(wanted));
  if (!push || push->state != inventory::PushState::Recorded) {
    return fail(Code::NotFound, fmt::format("there is no push {}", wanted),
                "`mesh history` lists them");
  }
  return *push;
}

Result<Outcome> run_rollback(Context& context, const Arguments& arguments) {
  MESH_TRY(const auto declared, declarations(context));
  MESH_TRY(auto state, open_state(context, declared));
  MESH_TRY(const auto push, earlier_push(state.inventory, arguments.positional("NUMBER")));
  MESH_TRY(auto recorded, controller::mesh_of_push(state.inventory, push));
  MESH_TRY(auto files, state.inventory.files(push.number));
  const model::Reading reading{std::move(recorded.mesh), {}, std::move(files)};
  controller::OperatorSteps steps(context.interrupt, context.timeout.value_or(kRollbackTimeout),
                                  [&](std::string_view line) { context.say(line); });
  controller::PushOptions options;
  options.verb = "rollback";
  options.yes = arguments.flag("--yes");
  options.by = controller::operator_name();
  MESH_TRY(options.images, state.inventory.images(push.number));
  MESH_TRY(const auto report, controller::push(state, declared.location, reading, options,
                                               {context.clock, context.random}, steps));
  Outcome outcome;
  outcome.document = Json{{"number", report.number},
                          {"digest", report.digest},
                          {"to", push.number},
                          {"reloaded", report.reloaded},
                          {"writes", report.writes}};
  outcome.text =
      report.changes.empty()
          ? fmt::format("nothing to change: all is as in push {}\n", push.number)
          : fmt::format("push {} is in force, as push {} was\n", report.number, push.number);
  outcome.diagnostics = changes_text(report.changes);
  return outcome;
}

}  // namespace

Verb rollback_verb() {
  return {{.name = "rollback",
           .summary = "back to an earlier push, with the images that it had",
           .example = "mesh rollback\nmesh rollback 41",
           .positionals = {{"NUMBER",
                            "of the push, as `mesh history` shows it; the one before the latest",
                            PositionalSpec::Count::Optional,
                            {}}},
           .options = {{"--yes", "", "also replace or remove what holds messages"}},
           .ends_itself = true},
          run_rollback};
}

}  // namespace mesh::cli
