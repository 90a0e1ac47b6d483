#include "controller/building.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/declarations.h"
#include "cli/mirror_progress.h"
#include "cli/verbs.h"

namespace mesh::cli {

namespace {

constexpr std::chrono::milliseconds kBuildTimeout{3'600'000};

Status check_modules(const std::vector<std::string>& names, const model::Mesh& mesh) {
  std::vector<std::string> known;
  for (const auto& module : mesh.modules) {
    known.push_back(module.name.text());
  }
  for (const auto& name : names) {
    if (mesh.module(name) == nullptr) {
      const auto meant = nearest(name, known);
      return fail(Code::Usage, fmt::format("there is no module {}", printable(name)),
                  meant.empty() ? "`mesh check` says what is declared"
                                : fmt::format("did you mean {}?", meant));
    }
  }
  return {};
}

Json component_json(const std::string& module, const std::string& component, const Json& digest,
                    bool built) {
  return {{"module", module}, {"component", component}, {"digest", digest},
          {"built", built},   {"because", nullptr},     {"log", nullptr}};
}

/// A component that could not be had, and why.
Json trouble_json(const controller::BuildTrouble& trouble) {
  auto out = component_json(trouble.module, trouble.component, nullptr, false);
  out["because"] = because_json({trouble.error.message, trouble.error.place});
  out["because"]["code"] = code_name(trouble.error.code);
  out["because"]["hint"] = trouble.error.hint.empty() ? Json(nullptr) : Json(trouble.error.hint);
  out["log"] = trouble.log.empty() ? Json(nullptr) : Json(trouble.log);
  return out;
}

Json build_document(const controller::BuildReport& report) {
  std::vector<Json> components;
  for (const auto& one : report.components) {
    components.push_back(component_json(one.module, one.component, one.digest, one.built));
  }
  for (const auto& one : report.troubles) {
    components.push_back(trouble_json(one));
  }
  std::ranges::sort(components, {}, [](const Json& one) {
    return std::pair(one["module"].get<std::string>(), one["component"].get<std::string>());
  });
  Json upstream = Json::array();
  for (const auto& one : report.upstream) {
    upstream.push_back({{"method", one.method},
                        {"url", one.url},
                        {"status", one.status ? Json(*one.status) : Json(nullptr)}});
  }
  return {{"components", components}, {"upstream", std::move(upstream)}, {"notes", report.notes}};
}

std::string trouble_text(const controller::BuildTrouble& trouble, bool colour) {
  std::string out;
  for (const auto& line : trouble.last_lines) {
    out += "  | " + printable(line, 400) + "\n";
  }
  Error error = trouble.error;
  error.message =
      fmt::format("building {}/{}: {}", trouble.module, trouble.component, error.message);
  return out + error_text(error, colour);
}

std::string upstream_text(const controller::BuildReport& report) {
  if (report.upstream.empty()) {
    return "upstream was asked nothing\n";
  }
  std::string out = fmt::format("upstream was asked {} time{}:\n", report.upstream.size(),
                                report.upstream.size() == 1 ? "" : "s");
  for (const auto& one : report.upstream) {
    out += fmt::format("  {} {} {}\n", one.method, one.url,
                       one.status ? std::to_string(*one.status) : "(no answer)");
  }
  for (const auto& one : report.quotas) {
    out += fmt::format("{} has {} of {} pulls left{}\n", one.domain, one.remaining, one.limit,
                       one.until ? ", until " + os::rfc3339(*one.until) + " at the latest" : "");
  }
  return out;
}

Outcome build_outcome(const controller::BuildReport& report, bool colour) {
  Outcome outcome;
  outcome.document = build_document(report);
  for (const auto& note : report.notes) {
    outcome.diagnostics += note + "\n";
  }
  for (const auto& one : report.components) {
    outcome.text += fmt::format("{}/{}: {} {}\n", one.module, one.component,
                                one.built ? "built" : "unchanged,", one.reference);
  }
  for (const auto& one : report.troubles) {
    outcome.diagnostics += trouble_text(one, colour);
    // What the registry holds may be damaged; the operator's own files are well.
    const bool failed = !one.log.empty() || one.error.code == Code::Corrupt;
    const int exit = failed ? exit_code::kFailed : exit_code_of(one.error.code);
    outcome.exit = outcome.exit == exit_code::kDone ? exit : outcome.exit;
  }
  if (report.components.empty() && report.troubles.empty()) {
    outcome.text = "nothing is built here: no component has `build`\n";
  }
  outcome.diagnostics += upstream_text(report);
  return outcome;
}

Result<Outcome> run_build(Context& context, const Arguments& arguments) {
  MESH_TRY(const auto declared, declarations(context));
  controller::BuildOptions options;
  options.modules = arguments.many("MODULE");
  MESH_CHECK(check_modules(options.modules, declared.mesh()));
  options.update = arguments.flag("--update");
  options.timeout = context.timeout.value_or(kBuildTimeout);
  options.stop_fd = context.interrupt.descriptor();
  MESH_TRY(auto state, open_state(context, declared));
  MirrorProgress progress(context);
  const registry::Services services{context.clock, context.random, context.variable};
  MESH_TRY(const auto outcome,
           controller::build(state, declared.location, declared.mesh(), options, services, progress,
                             [&](std::string_view line) { context.say(line); }));
  progress.clear();
  if (model::has_errors(outcome.problems)) {
    auto invalid = problems_outcome(outcome.problems, context.colour_err());
    invalid.diagnostics = std::move(invalid.text);
    invalid.text.clear();
    return invalid;
  }
  for (const auto& problem : outcome.problems) {
    context.say(model::to_text(problem));
  }
  auto built = build_outcome(outcome.report, context.colour_err());
  built.acted = true;
  if (context.json) {
    // With a document the frame prints no diagnostics; why something failed is said in any case.
    context.console.err(built.diagnostics);
  }
  return built;
}

}  // namespace

Verb build_verb() {
  return {
      {.name = "build",
       .summary =
           "builds the modules' images that changed, on bases that the mesh's registry holds",
       .example = "mesh build\nmesh build shop\nmesh build --update",
       .positionals = {{"MODULE", "build these modules alone", PositionalSpec::Count::Many, {}}},
       .options = {{"--update", "",
                    "ask upstream what the bases' tags mean now, and move mesh.lock"}},
       .ends_itself = true},
      run_build};
}

}  // namespace mesh::cli
