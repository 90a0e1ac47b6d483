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
  /// What is left of the time that all of it may take, at least 0.
  [[nodiscard]] virtual os::Milliseconds left() const { return kNoEnd; }
  /// Readable once the operator interrupts; -1 where nobody does.
  [[nodiscard]] virtual int stop_descriptor() const { return -1; }

  static constexpr os::Milliseconds kNoEnd = std::chrono::hours{24 * 365};
};

/// `most`, or what is left where that is less; at least a millisecond, since 0 is for ever to some.
[[nodiscard]] os::Milliseconds at_most(os::Milliseconds most, const Steps& steps);
[[nodiscard]] os::Milliseconds at_most(os::Milliseconds most, const os::Deadline& deadline);

/// A few requests that nobody interrupts, within a time.
class TimedSteps : public Steps {
 public:
  explicit TimedSteps(os::Milliseconds timeout) : deadline_(timeout) {}
  [[nodiscard]] Status next(std::string_view what) override;
  void say(std::string_view /*line*/) override {}
  [[nodiscard]] os::Milliseconds left() const override { return deadline_.left(); }

 private:
  os::Deadline deadline_;
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
  [[nodiscard]] os::Milliseconds left() const override { return deadline_.left(); }
  [[nodiscard]] int stop_descriptor() const override { return interrupt_.descriptor(); }

 private:
  const os::Interrupt& interrupt_;
  os::Deadline deadline_;
  Say say_;
};

}  // namespace mesh::controller
