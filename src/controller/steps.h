#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"
#include "controller/workspace.h"
#include "os/clock.h"
#include "os/interrupt.h"

namespace mesh::controller {

/// Asked before each thing that is done outside this process (a request to the bus, a file, a
/// transaction): whether to go on. What was done before stays and is found by the next run.
class Steps {
 public:
  Steps() = default;
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;
  virtual ~Steps() = default;
  /// `what` says in words what comes next. An error ends the work with that error.
  [[nodiscard]] virtual Status next(std::string_view what) = 0;
  /// One line of progress for people.
  virtual void say(std::string_view line) = 0;
};

/// Goes on until the operator interrupts (Interrupted) or the deadline has passed (Timeout, naming
/// the step that was waited for).
class OperatorSteps : public Steps {
 public:
  /// What is given is borrowed.
  OperatorSteps(const os::Interrupt& interrupt, os::Milliseconds timeout, Say say)
      : interrupt_(interrupt), deadline_(timeout), say_(std::move(say)) {}
  [[nodiscard]] Status next(std::string_view what) override;
  void say(std::string_view line) override { say_(line); }

 private:
  const os::Interrupt& interrupt_;
  os::Deadline deadline_;
  Say say_;
};

}  // namespace mesh::controller
