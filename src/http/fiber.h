#pragma once

#include <functional>
#include <memory>

namespace mesh::http {

/// A function with a stack of its own that runs in turns: `resume` runs it until it pauses or ends.
/// All fibers of a loop share its one thread, so between two pauses nothing else runs, and what
/// would be a chain of callbacks reads from top to bottom. (g++ 12's coroutines are not used;
/// CONTRIBUTING.md.) The stack is 512 KiB of address space of which only touched pages are memory,
/// with a guard page below.
class Fiber {
 public:
  /// What `body` throws comes out of the `resume` that ran it.
  explicit Fiber(std::function<void()> body);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  /// The body must have ended, or never have begun: a stack is not unwound from outside.
  ~Fiber();

  /// Not from within itself, nor after its end.
  void resume();
  /// Only from within: goes back to who resumed it.
  void pause();
  [[nodiscard]] bool ended() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mesh::http
