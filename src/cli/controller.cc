#include "controller/controller.h"

#include <poll.h>

#include <algorithm>

#include <fmt/format.h>

#include "cli/declarations.h"
#include "cli/verbs.h"
#include "controller/bus_link.h"
#include "controller/steps.h"

namespace mesh::cli {

namespace {

constexpr os::Milliseconds kTick{1000};
constexpr os::Milliseconds kAttempt{5000};  // of one login at a bus that may be away

void wait(const os::Interrupt& interrupt, os::Milliseconds most) {
  pollfd one{interrupt.descriptor(), POLLIN, 0};
  (void)::poll(&one, 1, static_cast<int>(std::min(most, kTick).count()));
}

/// An external bus may come up after its controller: waits for it, until --timeout where it is
/// given. What else is wrong with it is the controller's to say.
Status wait_for_external(const Context& context, const Declarations& declared,
                         inventory::State& state) {
  MESH_TRY(const auto other, controller::running_controller(state.paths));
  const os::Deadline deadline(context.within(controller::Steps::kNoEnd));
  std::string said;
  while (!other && !declared.mesh().bus.managed && !context.interrupt.requested()) {
    auto link = controller::connect_bus(state, declared.mesh(), declared.location.root,
                                        controller::at_most(kAttempt, deadline));
    if (link || (link.error().code != Code::Unavailable && link.error().code != Code::Timeout)) {
      return {};
    }
    if (deadline.passed()) {
      return fail(Code::Unavailable, "gave up waiting for the bus: " + link.error().message,
                  link.error().hint);
    }
    if (link.error().message != said) {
      said = link.error().message;
      context.say("waiting for the bus: " + said);
    }
    wait(context.interrupt, deadline.left());
  }
  return {};
}

Result<Outcome> run_controller(Context& context, const Arguments& /*arguments*/) {
  MESH_TRY(const auto declared, declarations(context));
  MESH_TRY(auto state, open_state(context, declared));
  MESH_CHECK(wait_for_external(context, declared, state));
  if (context.interrupt.requested()) {
    return Outcome{};
  }
  const auto say = [&](std::string_view line) { context.say(line); };
  context.interrupt.finish_in_order();  // the server is not left behind
  MESH_TRY(const auto controller,
           controller::Controller::start(state, declared.location, declared.mesh(),
                                         {context.clock, context.random}, say));
  if (const auto server = controller->server()) {
    context.say(fmt::format("the bus runs: nats-server {} on {}:{}, process {}", server->version,
                            server->host, server->port, server->process.pid));
  } else {
    context.say("the bus is external: watching it");
  }
  if (const auto registry = controller->registry()) {
    context.say(fmt::format("the registry runs: docker-registry {} on {}:{}, process {}",
                            registry->version, registry->host, registry->port,
                            registry->process.pid));
  }
  while (!context.interrupt.requested()) {
    controller->tick();
    wait(context.interrupt, kTick);
  }
  context.say(controller->registry() ? "ending the registry and the bus" : "ending the bus");
  MESH_CHECK(controller->stop());
  return Outcome{};
}

}  // namespace

Verb controller_verb() {
  return {{.name = "controller",
           .summary = "runs what is managed and heals what drifts, until Ctrl-C",
           .example = "mesh controller",
           .positionals = {},
           .options = {},
           .ends_itself = true},
          run_controller};
}

}  // namespace mesh::cli
