#include "controller/steps.h"

#include <fmt/format.h>

namespace mesh::controller {

Status OperatorSteps::next(std::string_view what) {
  if (interrupt_.requested()) {
    return fail(Code::Interrupted, fmt::format("interrupted before: {}", what),
                "run it again: it goes on from here");
  }
  if (deadline_.passed()) {
    return fail(Code::Timeout, fmt::format("the deadline passed before: {}", what),
                "run it again, with a longer --timeout: it goes on from here");
  }
  return {};
}

}  // namespace mesh::controller
