#include <poll.h>

#include <fmt/format.h>

#include "base/text.h"
#include "bus/connection.h"
#include "cli/declarations.h"
#include "cli/verbs.h"
#include "controller/bus_link.h"
#include "controller/steps.h"
#include "model/subjects.h"

namespace mesh::cli {

namespace {

constexpr int kFollowEvery = 500;  // milliseconds
constexpr std::size_t kLines = 100;
constexpr bus::Milliseconds kAnswer{10'000};

/// One component on one node, and how far it was read.
struct Source {
  model::NodeName node;
  std::string module;
  std::string component;
  std::string cursor{};
};

/// `MODULE` or `MODULE.COMPONENT`, on every node where it runs, or on one.
Result<std::vector<Source>> sources_of(const model::Mesh& mesh, const std::string& what,
                                       const std::optional<std::string>& node) {
  const auto dot = what.find('.');
  const auto name = what.substr(0, dot);
  const auto* module = mesh.module(name);
  if (module == nullptr) {
    return fail(Code::NotFound, fmt::format("there is no module {}", printable(name)),
                "`mesh check` says what is declared");
  }
  std::vector<Source> out;
  for (const auto& on : module->on) {
    for (const auto& component : module->file->components) {
      const bool chosen =
          (dot == std::string::npos || what.substr(dot + 1) == component.name.text()) &&
          (!node || *node == on.text());
      if (chosen) {
        out.push_back({on, name, component.name.text()});
      }
    }
  }
  if (out.empty()) {
    return fail(Code::NotFound, fmt::format("nothing of {} is declared there", printable(what)));
  }
  return out;
}

/// What came after the cursor; the cursor moves on.
Result<std::vector<std::string>> ask_logs(bus::Connection& connection, Source& source) {
  const nlohmann::json question = {{"ask", "logs"},
                                   {"module", source.module},
                                   {"component", source.component},
                                   {"cursor", source.cursor},
                                   {"most", kLines}};
  auto answer = connection.request(model::ask_subject(source.node), question.dump(), kAnswer);
  if (!answer) {
    return within("node " + source.node.text(), std::move(answer).error());
  }
  const auto document = nlohmann::json::parse(answer->data, nullptr, false);
  if (!document.is_object() || document.contains("error") || !document.contains("lines")) {
    const auto why = document.is_object() && document.contains("error")
                         ? document["error"].value("message", "")
                         : std::string("its answer makes no sense");
    return fail(Code::NotFound,
                fmt::format("node {}: {}", source.node.text(), printable(why, 400)));
  }
  source.cursor = document.value("next", "");
  return document["lines"].get<std::vector<std::string>>();
}

Status print(Context& context, const Source& source, const std::vector<std::string>& lines) {
  for (const auto& line : lines) {
    const auto name = fmt::format("{}.{}.{}", source.node.text(), source.module, source.component);
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
  MESH_TRY(const auto address, controller::bus_address(declared.mesh(), state.paths));
  MESH_TRY(auto options,
           controller::connect_options(state, declared.mesh(), declared.location.root, address,
                                       model::kControllerTools,
                                       std::string("_INBOX.") + model::kControllerTools));
  MESH_TRY(auto connection, bus::Connection::connect(options));
  const os::Deadline deadline(context.within(controller::Steps::kNoEnd));
  bool first = true;
  do {
    for (auto& source : sources) {
      const auto lines = ask_logs(connection, source);
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
