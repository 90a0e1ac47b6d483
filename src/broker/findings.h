#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "model/problem.h"

namespace mesh::broker {

/// Collects problems of one file.
class Findings {
 public:
  explicit Findings(const std::string& file) : file_(std::make_shared<const std::string>(file)) {}

  void add(int line, std::string code, std::string message) {
    problems_.push_back(
        {model::Severity::Error, std::move(code), std::move(message), {}, {file_, line, 0}});
  }
  /// Sorted by line; of one line in the order of finding.
  [[nodiscard]] std::vector<model::Problem> take() {
    std::ranges::stable_sort(problems_, {}, [](const model::Problem& p) { return p.place.line; });
    return std::move(problems_);
  }

 private:
  std::shared_ptr<const std::string> file_;
  std::vector<model::Problem> problems_;
};

}  // namespace mesh::broker
