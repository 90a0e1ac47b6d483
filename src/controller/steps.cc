#include "controller/steps.h"

#include <fmt/format.h>

#include <algorithm>

namespace mesh::controller {

os::Milliseconds at_most(os::Milliseconds most, const Steps& steps) {
  return std::max(os::Milliseconds{1}, std::min(most, steps.left()));
}

os::Milliseconds at_most(os::Milliseconds most, const os::Deadline& deadline) {
  return std::max(os::Milliseconds{1}, std::min(most, deadline.left()));
}

Status TimedSteps::next(std::string_view what) {
  if (deadline_.passed()) {
    return fail(Code::Timeout, fmt::format("the deadline passed before: {}", what),
                "a longer --timeout waits longer");
  }
  return {};
}

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
