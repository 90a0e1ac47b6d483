#include <fmt/format.h>

#include "cli/declarations.h"
#include "cli/verbs.h"
#include "controller/prune.h"

namespace mesh::cli {

namespace {

constexpr os::Milliseconds kCollectTimeout{3'600'000};

Json kept_json(const std::vector<controller::KeptImage>& images) {
  auto list = Json::array();
  for (const auto& one : images) {
    list.push_back(
        {{"repository", one.repository}, {"digest", one.digest}, {"because", one.because}});
  }
  return list;
}

Json prune_json(const controller::PruneReport& report) {
  auto unused = Json::array();
  for (const auto& one : report.plan.unused) {
    unused.push_back({{"repository", one.repository},
                      {"digest", one.digest},
                      {"tags", one.tags},
                      {"bytes", one.bytes}});
  }
  return {{"unused", std::move(unused)},
          {"kept", kept_json(report.plan.kept)},
          {"foreign", kept_json(report.plan.foreign)},
          {"frees", report.plan.frees + report.leftover},
          {"removed", report.removed},
          {"freed", report.freed ? Json(*report.freed) : Json(nullptr)}};
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::uint64_t kMiB = 1U << 20U;
  return bytes < kMiB ? fmt::format("{} bytes", bytes) : fmt::format("{} MiB", bytes / kMiB);
}

std::string prune_text(const controller::PruneReport& report) {
  std::string text;
  for (const auto& one : report.plan.unused) {
    text += fmt::format("{} {}@{}, {}\n", report.removed ? "removed" : "unused ", one.repository,
                        one.digest, bytes_text(one.bytes));
  }
  for (const auto& one : report.plan.foreign) {
    text += fmt::format("left    {}@{}: {} (--all takes it too)\n", one.repository, one.digest,
                        one.because);
  }
  text += fmt::format("{} stay, {} {}\n", report.plan.kept.size(), report.plan.unused.size(),
                      report.removed ? "are gone" : "are unused");
  if (report.freed) {
    text += bytes_text(*report.freed) + " freed\n";
  } else if (!report.removed && report.plan.frees + report.leftover > 0) {
    text += bytes_text(report.plan.frees + report.leftover) + " would be freed\n";
  }
  return text;
}

Result<Outcome> run_registry(Context& context, const Arguments& arguments) {
  MESH_TRY(const auto declared, declarations(context));
  MESH_TRY(auto state, open_state(context, declared));
  controller::PruneOptions options;
  options.all = arguments.flag("--all");
  options.yes = arguments.flag("--yes");
  options.timeout = context.timeout.value_or(kCollectTimeout);
  options.stop_fd = context.interrupt.descriptor();
  MESH_TRY(const auto report, controller::prune(state, declared.mesh(), declared.location, options,
                                                {context.clock, context.random, context.variable},
                                                [&](std::string_view line) { context.say(line); }));
  Outcome outcome;
  outcome.document = prune_json(report);
  outcome.text = prune_text(report);
  outcome.acted = report.removed;
  if (!report.removed && (!report.plan.unused.empty() || report.leftover > 0)) {
    outcome.diagnostics = "nothing was removed; `mesh registry prune --yes` does it\n";
  }
  return outcome;
}

}  // namespace

Verb registry_verb() {
  return {{.name = "registry",
           .summary = "removes images from the mesh's registry that nothing names or runs",
           .example = "mesh registry prune\nmesh registry prune --yes",
           .positionals = {{"ACTION", "prune", PositionalSpec::Count::One, {"prune"}}},
           .options = {{"--yes", "", "do it; without it only what would be done is shown"},
                       {"--all", "", "also images that mesh has no record of putting there"}},
           .ends_itself = true},
          run_registry};
}

}  // namespace mesh::cli
