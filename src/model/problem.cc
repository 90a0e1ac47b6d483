#include "model/problem.h"

#include <algorithm>

#include <fmt/format.h>

namespace mesh::model {

bool has_errors(const std::vector<Problem>& problems) {
  return std::ranges::any_of(problems,
                             [](const Problem& p) { return p.severity == Severity::Error; });
}

std::string to_text(const Problem& problem) {
  std::string out = problem.place.file_name();
  if (!out.empty() && problem.place.line > 0) {
    out += fmt::format(":{}:{}", problem.place.line, problem.place.column);
  }
  out += out.empty() ? "" : ": ";
  out += problem.severity == Severity::Error ? "error: " : "warning: ";
  out += problem.message;
  return problem.hint.empty() ? out : out + " (" + problem.hint + ")";
}

}  // namespace mesh::model
