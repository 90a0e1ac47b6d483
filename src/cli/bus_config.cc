#include "controller/bus_config.h"

#include <fmt/format.h>

#include "cli/declarations.h"
#include "cli/verbs.h"
#include "controller/credentials.h"
#include "controller/tls.h"

namespace mesh::cli {

namespace {

/// The version that would read the file; unknown where no server is installed here.
std::optional<bus::Version> server_version(const Context& context, const model::Mesh& mesh) {
  const auto found = bus::find_server(mesh.bus.program, controller::executable_directory(),
                                      context.within(bus::kVersionWithin));
  return found ? std::optional(found->version) : std::nullopt;
}

Result<Outcome> run_bus_config(Context& context, const Arguments& /*arguments*/) {
  MESH_TRY(const auto declared, declarations(context));
  MESH_TRY(auto state, open_state(context, declared));
  const auto shape = controller::bus_shape(declared.mesh());
  MESH_TRY(const auto issued, controller::issue_credentials(state, shape.users, "bus-config",
                                                            {context.clock, context.random}));
  MESH_TRY(const auto hashes, state.inventory.hashes());
  MESH_CHECK(controller::ensure_certificate(state.paths, declared.mesh(), controller::Served::Bus,
                                            context.clock.now()));
  const auto settings = controller::server_settings(declared.mesh(), state.paths,
                                                    server_version(context, declared.mesh()));
  Outcome outcome;
  MESH_TRY(outcome.text, controller::bus_config_text(settings, shape, hashes));
  outcome.document = Json{{"config", outcome.text}};
  if (!issued.empty()) {
    context.say(
        fmt::format("issued {} credential{}", issued.size(), issued.size() == 1 ? "" : "s"));
  }
  return outcome;
}

}  // namespace

Verb bus_config_verb() {
  return {{.name = "bus-config",
           .summary = "prints the bus configuration, issuing credentials that are missing",
           .example = "mesh bus-config > nats.conf && nats-server -t -c nats.conf",
           .positionals = {},
           .options = {}},
          run_bus_config};
}

}  // namespace mesh::cli
