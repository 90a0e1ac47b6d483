#pragma once

#include <string>
#include <vector>

#include "base/place.h"

namespace mesh::model {

enum class Severity { Error, Warning };

/// One thing that is wrong with what an operator wrote. `code` is a stable kebab-case word for
/// programs (`unknown-key`); `hint` says what to do and may be empty.
struct Problem {
  Severity severity = Severity::Error;
  std::string code;
  std::string message;
  std::string hint;
  Place place;
};

[[nodiscard]] bool has_errors(const std::vector<Problem>& problems);

/// `file:line:column: severity: message (hint)`, one line, as compilers print it.
[[nodiscard]] std::string to_text(const Problem& problem);

}  // namespace mesh::model
