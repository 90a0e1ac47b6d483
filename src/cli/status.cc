#include <poll.h>

#include "cli/declarations.h"
#include "cli/standing_text.h"
#include "cli/verbs.h"
#include "controller/steps.h"

namespace mesh::cli {

namespace {

constexpr int kEvery = 2000;  // milliseconds
constexpr std::chrono::milliseconds kStatusTimeout{60'000};

Result<Outcome> status_once(Context& context, const Declarations& declared, inventory::State& state,
                            os::Milliseconds timeout) {
  MESH_TRY(const auto standing, controller::standing(state, declared.mesh(), declared.location.root,
                                                     context.clock.now(), timeout));
  MESH_TRY(const auto latest, state.inventory.latest());
  const StatusView view{declared.mesh(), state.identity.mesh_id, latest ? latest->number : 0,
                        standing};
  Outcome outcome;
  outcome.document = status_json(view);
  outcome.text = status_text(view);
  if (standing.bus.failure) {
    outcome.diagnostics = error_text(*standing.bus.failure, context.colour_err());
    outcome.exit = exit_code_of(standing.bus.failure->code);
  }
  return outcome;
}

Result<Outcome> run_status(Context& context, const Arguments& arguments) {
  MESH_TRY(const auto declared, declarations(context));
  MESH_TRY(auto state, open_state(context, declared));
  if (!arguments.flag("--watch")) {
    return status_once(context, declared, state, context.within(kStatusTimeout));
  }
  const os::Deadline deadline(context.within(controller::Steps::kNoEnd));
  while (!context.interrupt.requested() && !deadline.passed()) {
    MESH_TRY(const auto now,
             status_once(context, declared, state, controller::at_most(kStatusTimeout, deadline)));
    const auto shown = context.json ? now.document.dump() + "\n" : now.text;
    const bool terminal = context.console.out_is_terminal() && !context.json;
    const auto written = context.console.out((terminal ? "\x1b[H\x1b[2J" : "") + shown);
    if (!written && written.error().code == Code::Unavailable) {
      return Outcome{};  // nobody reads any more
    }
    MESH_CHECK(written);
    pollfd one{context.interrupt.descriptor(), POLLIN, 0};
    (void)::poll(&one, 1, kEvery);
  }
  return Outcome{};
}

}  // namespace

Verb status_verb() {
  return {{.name = "status",
           .summary = "how things stand: the bus, the registry, the nodes, what waits and for whom",
           .example = "mesh status\nmesh status --watch",
           .positionals = {},
           .options = {{"--watch", "", "again and again, until Ctrl-C"}}},
          run_status};
}

}  // namespace mesh::cli
