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

constexpr std::size_t kLargest = 1U << 20U;  // the bus takes no more in one message

/// The tool that was asked for, in the declarations.
Result<const model::Tool*> find_tool(const model::Mesh& mesh, const model::ToolRef& wanted) {
  std::vector<std::string> names;
  for (const auto& module : mesh.modules) {
    for (const auto& tool : module.file->tools) {
      if (module.name == wanted.module && tool.name == wanted.tool) {
        return &tool;
      }
      names.push_back(module.name.text() + "." + tool.name.text());
    }
  }
  const auto meant = nearest(wanted.text(), names);
  return fail(Code::NotFound, "nobody offers a tool " + wanted.text(),
              meant.empty() ? std::string() : fmt::format("did you mean {}?", meant));
}

Result<std::string> payload_of(Context& context, const Arguments& arguments) {
  auto text = arguments.positional("JSON").value_or("{}");
  if (text == "-") {
    MESH_TRY(text, context.console.in(kLargest));
  }
  if (!nlohmann::json::accept(text)) {
    return fail(Code::Usage, "what the tool is asked with is no JSON",
                R"(quote it for the shell, as '{"item": 17}', or give `-` and write it to stdin)");
  }
  return text;
}

/// An answer that says it is an error: the header of the services' protocol, or `{"error": …}` as
/// the runtime writes it.
bool is_error(const bus::Message& answer, const Json& document) {
  return !answer.header("Nats-Service-Error-Code").empty() ||
         !answer.header("Nats-Service-Error").empty() ||
         (document.is_object() && document.size() == 1 && document.contains("error"));
}

Outcome answered(const bus::Message& answer) {
  Outcome outcome;
  outcome.text = answer.data + "\n";
  outcome.document = Json::parse(answer.data, nullptr, false);
  if (outcome.document.is_discarded()) {
    outcome.document = Json(printable(answer.data, kLargest));
  }
  if (is_error(answer, outcome.document)) {
    outcome.exit = exit_code::kFailed;
  }
  return outcome;
}

Result<Outcome> run_call(Context& context, const Arguments& arguments) {
  auto wanted = model::ToolRef::parse(arguments.positional("TOOL").value_or(""));
  if (!wanted) {
    wanted.error().code = Code::Usage;
    return std::unexpected(std::move(wanted).error());
  }
  MESH_TRY(const auto payload, payload_of(context, arguments));
  MESH_TRY(const auto declared, declarations(context));
  MESH_TRY(const auto* tool, find_tool(declared.mesh(), *wanted));
  MESH_TRY(auto state, open_state(context, declared));
  MESH_TRY(const auto address, controller::bus_address(declared.mesh(), state.paths));
  MESH_TRY(auto options,
           controller::connect_options(state, declared.mesh(), declared.location.root, address,
                                       model::kControllerTools,
                                       std::string("_INBOX.") + model::kControllerTools));
  const os::Deadline deadline(context.within(controller::kBusTimeout + tool->timeout));
  options.timeout = controller::at_most(controller::kBusTimeout, deadline);
  MESH_TRY(auto connection, bus::Connection::connect(options));
  auto answer = connection.request(model::tool_subject(wanted->module, wanted->tool), payload,
                                   controller::at_most(context.within(tool->timeout), deadline));
  if (!answer && answer.error().code == Code::Unavailable) {
    return fail(Code::Unavailable, fmt::format("nobody answers {}", wanted->text()),
                fmt::format("module {} is not connected, or does not offer it yet; `mesh push` "
                            "tells the bus what is declared",
                            wanted->module.text()));
  }
  if (!answer) {
    return std::unexpected(std::move(answer).error());
  }
  return answered(*answer);
}

}  // namespace

Verb call_verb() {
  return {{.name = "call",
           .summary = "asks a module's tool and prints its answer",
           .example = R"(mesh call audit.search '{"text": "order"}')",
           .positionals = {{"TOOL", "MODULE.TOOL", PositionalSpec::Count::One, {}},
                           {"JSON",
                            "what it is asked with; `-` reads stdin",
                            PositionalSpec::Count::Optional,
                            {}}},
           .options = {}},
          run_call};
}

}  // namespace mesh::cli
