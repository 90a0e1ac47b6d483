#include "model/report.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace mesh::model {

namespace {

auto order(const Problem& p) {
  return std::tie(p.place.file_name(), p.place.line, p.place.column, p.severity, p.code, p.message);
}

}  // namespace

void Report::error(Place place, std::string_view code, std::string message, std::string hint) {
  ++errors_;
  misplaced_ += code == "slid-into-table" || code == "unknown-key" ? 1U : 0U;
  add({Severity::Error, std::string(code), std::move(message), std::move(hint), std::move(place)});
}

void Report::warning(Place place, std::string_view code, std::string message, std::string hint) {
  add({Severity::Warning, std::string(code), std::move(message), std::move(hint),
       std::move(place)});
}

void Report::add(Problem problem) {
  if (problems_.size() < kMostProblems) {
    problems_.push_back(std::move(problem));
    return;
  }
  ++dropped_;
  dropped_error_ = dropped_error_ || problem.severity == Severity::Error;
}

std::vector<Problem> Report::take() {
  std::ranges::sort(problems_, [](const auto& a, const auto& b) { return order(a) < order(b); });
  // Modules that share one module.toml share its problems.
  const auto repeated = std::ranges::unique(
      problems_, [](const auto& a, const auto& b) { return order(a) == order(b); });
  problems_.erase(repeated.begin(), repeated.end());
  if (dropped_ > 0) {
    problems_.push_back({dropped_error_ ? Severity::Error : Severity::Warning,
                         "more-problems",
                         fmt::format("and {} more problems", dropped_),
                         "",
                         {}});
  }
  return std::move(problems_);
}

}  // namespace mesh::model
