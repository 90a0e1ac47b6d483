#pragma once

#include <map>
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
    by_line_.emplace(
        line,
        model::Problem{
            model::Severity::Error, std::move(code), std::move(message), {}, {file_, line, 0}});
  }
  /// Sorted by line; of one line in the order of finding.
  [[nodiscard]] std::vector<model::Problem> take() {
    std::vector<model::Problem> out;
    for (auto& [line, problem] : by_line_) {
      out.push_back(std::move(problem));
    }
    by_line_.clear();
    return out;
  }

 private:
  std::shared_ptr<const std::string> file_;
  std::multimap<int, model::Problem> by_line_;
};

}  // namespace mesh::broker
