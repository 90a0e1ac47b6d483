#include "controller/bring_images.h"

#include <fmt/format.h>

#include "base/text.h"
#include "controller/image_plan.h"

namespace mesh::controller {

namespace {

constexpr std::size_t kLongestLine = 400;

Status first_error(const std::vector<model::Problem>& problems) {
  for (const auto& problem : problems) {
    if (problem.severity == model::Severity::Error) {
      return fail(Code::InvalidArgument, problem.message, problem.hint, problem.place);
    }
  }
  return {};
}

/// The error of the whole: a build that failed is no fault of the files that Mesh reads.
Error error_of(const BuildTrouble& trouble, std::size_t all) {
  Error error = trouble.error;
  if (!trouble.log.empty()) {
    error.code = Code::Conflict;
  }
  error.message = fmt::format("{}/{}: {}", trouble.module, trouble.component, error.message);
  if (all > 1) {
    error.message += fmt::format(" (and {} more)", all - 1);
  }
  error.message += "; nothing else was changed";
  return error;
}

void say_report(const BuildReport& report, Steps& steps) {
  for (const auto& note : report.notes) {
    steps.say(note);
  }
  for (const auto& one : report.components) {
    if (one.built) {
      steps.say(fmt::format("{}/{}: built {}", one.module, one.component, one.reference));
    }
  }
  for (const auto& asked : report.upstream) {
    steps.say(fmt::format("upstream was asked: {} {} {}", asked.method, asked.url,
                          asked.status ? std::to_string(*asked.status) : "(no answer)"));
  }
  for (const auto& trouble : report.troubles) {
    for (const auto& line : lines_of(trouble)) {
      steps.say(line);
    }
  }
}

}  // namespace

std::vector<std::string> lines_of(const BuildTrouble& trouble) {
  std::vector<std::string> out;
  for (const auto& line : trouble.last_lines) {
    out.push_back("  | " + printable(line, kLongestLine));
  }
  out.push_back(
      fmt::format("building {}/{}: {}", trouble.module, trouble.component, trouble.error.message));
  return out;
}

Result<std::vector<inventory::PushImage>> bring_images(inventory::State& state,
                                                       const Location& location,
                                                       const model::Mesh& mesh,
                                                       const ImageEdges& edges, Steps& steps) {
  MESH_CHECK(steps.next("bring the images"));
  BuildOptions options;
  options.modules = modules_with_images(mesh);
  options.images = true;
  options.timeout = steps.left();
  options.stop_fd = steps.stop_descriptor();
  MESH_TRY(auto outcome, build(state, location, mesh, options, edges.services, edges.progress,
                               [&](std::string_view line) { steps.say(line); }));
  MESH_CHECK(first_error(outcome.problems));
  auto& report = outcome.report;
  say_report(report, steps);
  if (!report.troubles.empty()) {
    return std::unexpected(error_of(report.troubles.front(), report.troubles.size()));
  }
  std::ranges::sort(report.images);
  return std::move(report.images);
}

}  // namespace mesh::controller
