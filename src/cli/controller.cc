#include "controller/controller.h"

#include <poll.h>

#include <fmt/format.h>

#include "cli/declarations.h"
#include "cli/verbs.h"

namespace mesh::cli {

namespace {

constexpr int kTick = 1000;  // milliseconds

void wait(const os::Interrupt& interrupt) {
  pollfd one{interrupt.descriptor(), POLLIN, 0};
  (void)::poll(&one, 1, kTick);
}

Result<Outcome> run_controller(Context& context, const Arguments& /*arguments*/) {
  MESH_TRY(const auto declared, declarations(context));
  MESH_TRY(auto state, open_state(context, declared));
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
    wait(context.interrupt);
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
