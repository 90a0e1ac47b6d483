#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "model/problem.h"

namespace mesh::model {

/// Most problems that are kept; what is beyond is counted.
inline constexpr std::size_t kMostProblems = 1000;
/// Problems after which hints that cost much are left out.
inline constexpr std::size_t kMostHints = 200;

/// Collects the problems of one reading.
class Report {
 public:
  void error(Place place, std::string_view code, std::string message, std::string hint = {});
  void warning(Place place, std::string_view code, std::string message, std::string hint = {});

  /// Whether anything so far is an error.
  [[nodiscard]] bool failed() const { return errors_ > 0; }
  [[nodiscard]] std::size_t errors() const { return errors_; }
  /// Keys that stand where they mean nothing: what they were meant to say is not known.
  [[nodiscard]] std::size_t misplaced() const { return misplaced_; }
  /// Whether looking for the nearest name among thousands is still worth the time.
  [[nodiscard]] bool wants_hints() const { return problems_.size() < kMostHints; }

  /// Every problem, sorted by file, line and column, each once; where more than `kMostProblems`
  /// were found, a last one, `more-problems`, says how many.
  [[nodiscard]] std::vector<Problem> take();

 private:
  void add(Problem problem);

  std::vector<Problem> problems_;
  std::size_t dropped_ = 0;
  bool dropped_error_ = false;
  std::size_t errors_ = 0;
  std::size_t misplaced_ = 0;
};

}  // namespace mesh::model
