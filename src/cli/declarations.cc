#include "cli/declarations.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"

namespace mesh::cli {

namespace {

using model::Problem;
using model::Severity;

Json number_or_null(int value) {
  return value > 0 ? Json(value) : Json(nullptr);
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json problem_json(const Problem& problem) {
  return {{"file", text_or_null(problem.place.file_name())},
          {"line", number_or_null(problem.place.line)},
          {"column", number_or_null(problem.place.column)},
          {"severity", problem.severity == Severity::Error ? "error" : "warning"},
          {"code", problem.code},
          {"message", problem.message},
          {"hint", text_or_null(problem.hint)}};
}

std::string verdict(std::span<const Problem> problems) {
  const auto errors = static_cast<std::size_t>(std::ranges::count_if(
      problems, [](const Problem& problem) { return problem.severity == Severity::Error; }));
  const auto warnings = problems.size() - errors;
  if (problems.empty()) {
    return "the declarations hold\n";
  }
  if (errors == 0) {
    return fmt::format("the declarations hold, with {}\n", counted(warnings, "warning"));
  }
  return fmt::format("{}, {}\n", counted(errors, "error"), counted(warnings, "warning"));
}

std::string painted(const Problem& problem, bool colour) {
  auto line = model::to_text(problem);
  if (!colour) {
    return line;
  }
  const std::string word = problem.severity == Severity::Error ? " error: " : " warning: ";
  const auto at = line.find(word);
  if (at != std::string::npos) {
    const auto* const paint = problem.severity == Severity::Error ? "\x1b[1;31m" : "\x1b[1;33m";
    line.replace(at, word.size(),
                 fmt::format(" {}{}\x1b[0m ", paint, word.substr(1, word.size() - 2)));
  }
  return line;
}

}  // namespace

Result<std::optional<std::string>> given_state(const Context& context) {
  if (!context.state) {
    return std::nullopt;
  }
  const auto path = context.absolute(*context.state);
  std::filesystem::path there = path;
  std::error_code ignored;
  while (!std::filesystem::exists(std::filesystem::symlink_status(there, ignored)) &&
         there.has_relative_path()) {
    there = there.parent_path();
  }
  if (!std::filesystem::is_directory(there, ignored)) {
    return fail(Code::Usage, fmt::format("{} is no directory", there.string()),
                "--state takes the directory to keep state in, which is made where it is missing");
  }
  return std::optional(path);
}

Result<controller::Location> locate(const Context& context) {
  MESH_TRY(const auto state, given_state(context));
  return controller::locate(context.directory, state);
}

Result<Declarations> declarations(Context& context) {
  MESH_TRY(auto location, locate(context));
  auto reading = controller::read_declarations(location);
  if (!reading.mesh) {
    auto outcome = problems_outcome(reading.problems, context.colour_err());
    outcome.diagnostics = std::move(outcome.text);
    outcome.text.clear();
    context.invalid = std::move(outcome);
    return fail(Code::InvalidArgument, "the declarations are invalid", "see `mesh check`");
  }
  return Declarations{std::move(location), std::move(reading)};
}

Result<inventory::State> open_state(const Context& context, const Declarations& declared) {
  return controller::open_state(declared.location, declared.mesh().name,
                                {context.clock, context.random},
                                [&](std::string_view line) { context.say(line); });
}

Outcome problems_outcome(std::span<const Problem> problems, bool colour) {
  Outcome outcome;
  outcome.document = Json{{"problems", Json::array()}};
  for (const auto& problem : problems) {
    outcome.document["problems"].push_back(problem_json(problem));
    outcome.text += painted(problem, colour) + "\n";
    if (problem.severity == Severity::Error) {
      outcome.exit = exit_code::kInvalid;
    }
  }
  outcome.text += verdict(problems);
  return outcome;
}

}  // namespace mesh::cli
