#include <poll.h>

#include <fmt/format.h>

#include "base/text.h"
#include "bus/connection.h"
#include "cli/declarations.h"
#include "cli/verbs.h"
#include "controller/node_logs.h"
#include "controller/steps.h"

namespace mesh::cli {

namespace {

constexpr int kFollowEvery = 500;  // milliseconds
constexpr std::size_t kLines = 100;

/// `MODULE` or `MODULE.COMPONENT`, on every node where it runs, or on one.
Result<std::vector<controller::LogSource>> sources_of(const model::Mesh& mesh,
                                                      const std::string& what,
                                                      const std::optional<std::string>& node) {
  const auto dot = what.find('.');
  const auto name = what.substr(0, dot);
  if (mesh.module(name) == nullptr) {
    return fail(Code::NotFound, fmt::format("there is no module {}", printable(name)),
                "`mesh check` says what is declared");
  }
  auto out = controller::log_sources(mesh);
  std::erase_if(out, [&](const auto& one) {
    return one.module != name ||
           (dot != std::string::npos && what.substr(dot + 1) != one.component) ||
           (node && *node != one.node.text());
  });
  if (out.empty()) {
    return fail(Code::NotFound, fmt::format("nothing of {} is declared there", printable(what)));
  }
  return out;
}

Status print(Context& context, const controller::LogSource& source,
             const std::vector<std::string>& lines) {
  for (const auto& line : lines) {
    const auto name = source.name();
    const auto shown = context.json
                           ? nlohmann::json{{"unit", name}, {"line", line}}.dump(
                                 -1, ' ', false, nlohmann::json::error_handler_t::replace) +
                                 "\n"
                           : fmt::format("{} | {}\n", name, printable(line, 1U << 20U));
    MESH_CHECK(context.console.out(shown));
  }
  return {};
}

Result<Outcome> run_logs(Context& context, const Arguments& arguments) {
  MESH_TRY(const auto declared, declarations(context));
  MESH_TRY(auto sources, sources_of(declared.mesh(), arguments.positional("WHAT").value_or(""),
                                    arguments.value("--node")));
  MESH_TRY(auto state, open_state(context, declared));
  MESH_TRY(const auto options,
           controller::asking_options(state, declared.mesh(), declared.location.root));
  MESH_TRY(auto connection, bus::Connection::connect(options));
  const os::Deadline deadline(context.within(controller::Steps::kNoEnd));
  bool first = true;
  do {
    for (auto& source : sources) {
      const auto lines = controller::ask_logs(connection, source, kLines);
      if (!lines && first) {
        return std::unexpected(lines.error());
      }
      if (lines) {
        MESH_CHECK(print(context, source, *lines));
      }
    }
    first = false;
    if (arguments.flag("--follow")) {
      pollfd one{context.interrupt.descriptor(), POLLIN, 0};
      (void)::poll(&one, 1, kFollowEvery);
    }
  } while (arguments.flag("--follow") && !context.interrupt.requested() && !deadline.passed());
  return Outcome{};
}

}  // namespace

Verb logs_verb() {
  return {{.name = "logs",
           .summary = "what modules print, asked of their nodes over the bus",
           .example = "mesh logs shop\nmesh logs shop.server --follow",
           .positionals = {{"WHAT", "MODULE or MODULE.COMPONENT", PositionalSpec::Count::One, {}}},
           .options = {{"--follow", "", "go on until Ctrl-C"},
                       {"--node", "NAME", "of this node alone"}}},
          run_logs};
}

}  // namespace mesh::cli
