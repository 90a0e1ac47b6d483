#include "cli/explain_module.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/declarations.h"
#include "controller/standing.h"
#include "model/subjects.h"

namespace mesh::cli {

namespace {

constexpr std::chrono::milliseconds kExplainTimeout{60'000};

/// Why the module is not as declared; empty: it is.
std::vector<Because> complaints(const model::Module& module, const controller::Standing& standing) {
  std::vector<Because> out;
  for (const auto& node : module.on) {
    const model::InstanceName instance{node, module.name};
    const auto wanted = std::string(model::kEvents) + "." + model::instance_consumer(instance);
    const bool raised = std::ranges::any_of(standing.consumers,
                                            [&](const auto& one) { return one.name == wanted; });
    if (!module.file->consumes.empty() && !raised) {
      out.push_back(
          {fmt::format("its consumer {} is not on the bus: `mesh push` raises it", wanted),
           module.place});
    }
    const auto* joined = standing.joined(node.text());
    if (joined != nullptr && joined->state == "silent") {
      out.push_back(
          {fmt::format("node {} is silent: {}", node.text(), joined->because), module.place});
      continue;
    }
    if (joined != nullptr && joined->report && joined->report->refused) {
      out.push_back({fmt::format("node {} refused its declaration: {}", node.text(),
                                 joined->report->refused->because),
                     module.place});
    }
    if (joined != nullptr && joined->state != "converged") {
      const auto& modules =
          joined->report ? joined->report->modules : std::vector<declaration::ModuleReport>();
      const auto found =
          std::ranges::find(modules, module.name.text(), &declaration::ModuleReport::name);
      if (found != modules.end() && !found->converged && !found->because.empty()) {
        out.push_back({instance.text() + ": " + found->because, module.place});
      }
    }
    for (const auto& component : module.file->components) {
      const auto* state = standing.find(node.text(), module.name.text(), component.name.text());
      const auto name = instance.text() + "." + component.name.text();
      if (state == nullptr) {
        out.push_back({name + " is not known to run: no host reports and no `mesh up` runs",
                       component.place});
      } else if (!controller::as_declared(*state, component)) {
        out.push_back({fmt::format("{} is {}{}", name, state->state,
                                   state->because.empty() ? "" : ": " + state->because),
                       component.place});
      }
    }
  }
  return out;
}

Outcome explained(const std::string& module, const std::vector<Because>& reasons) {
  Outcome outcome;
  const auto answer = reasons.empty() ? fmt::format("module {} is as declared", module)
                                      : fmt::format("module {} is not as declared: {}", module,
                                                    reasons.front().text);
  outcome.document = Json{{"answer", answer}, {"because", Json::array()}};
  outcome.text = answer + "\n";
  for (const auto& reason : reasons) {
    outcome.document["because"].push_back(because_json(reason));
  }
  for (std::size_t i = 1; i < reasons.size(); ++i) {
    outcome.text += "  and " + reasons[i].text + "\n";
  }
  outcome.exit = reasons.empty() ? exit_code::kDone : exit_code::kFailed;
  return outcome;
}

std::unexpected<Error> unknown(const model::Mesh& mesh, const std::string& module) {
  std::vector<std::string> names;
  names.reserve(mesh.modules.size());
  for (const auto& each : mesh.modules) {
    names.push_back(each.name.text());
  }
  const auto meant = nearest(module, names);
  return fail(Code::NotFound, fmt::format("there is no module '{}'", printable(module)),
              meant.empty() ? "of a principal say also publish or hear, and a subject"
                            : fmt::format("did you mean {}?", meant));
}

}  // namespace

Result<Outcome> explain_module(Context& context, const std::string& module) {
  MESH_TRY(const auto declared, declarations(context));
  const auto* found = declared.mesh().module(module);
  if (found == nullptr) {
    return unknown(declared.mesh(), module);
  }
  MESH_TRY(auto state, open_state(context, declared));
  MESH_TRY(const auto standing,
           controller::standing(state, declared.mesh(), declared.location.root, context.clock.now(),
                                context.within(kExplainTimeout)));
  if (standing.bus.failure) {
    return std::unexpected(*standing.bus.failure);
  }
  return explained(module, complaints(*found, standing));
}

}  // namespace mesh::cli
