#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "http/loop.h"

namespace mesh::registry {

/// What is done for one name at a time: the first task does it, the others wait and look again.
class Turns {
 public:
  /// Held while it lives.
  class Turn {
   public:
    Turn(Turns& turns, std::string name) : turns_(&turns), name_(std::move(name)) {}
    Turn(Turn&& other) noexcept
        : turns_(std::exchange(other.turns_, nullptr)), name_(std::move(other.name_)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (turns_ != nullptr) {
        turns_->taken_.erase(name_);
        turns_->loop_.wake(turns_->waiters_);
      }
    }

   private:
    Turns* turns_;
    std::string name_;
  };

  explicit Turns(http::Loop& loop) : loop_(loop) {}

  /// Errors: as Loop::wait.
  [[nodiscard]] Result<Turn> take(const std::string& name) {
    while (!taken_.insert(name).second) {
      MESH_CHECK(loop_.wait(waiters_));
    }
    return Turn(*this, name);
  }

 private:
  http::Loop& loop_;
  std::set<std::string> taken_;
  http::Waiters waiters_;
};

/// So many at a time.
class Slots {
 public:
  class Slot {
   public:
    explicit Slot(Slots& slots) : slots_(&slots) {}
    Slot(Slot&& other) noexcept : slots_(std::exchange(other.slots_, nullptr)) {}
    Slot& operator=(Slot&&) = delete;
    ~Slot() {
      if (slots_ != nullptr) {
        ++slots_->free_;
        slots_->loop_.wake(slots_->waiters_);
      }
    }

   private:
    Slots* slots_;
  };

  Slots(http::Loop& loop, std::size_t count) : loop_(loop), free_(count) {}

  /// Errors: as Loop::wait.
  [[nodiscard]] Result<Slot> take() {
    while (free_ == 0) {
      MESH_CHECK(loop_.wait(waiters_));
    }
    --free_;
    return Slot(*this);
  }

 private:
  http::Loop& loop_;
  std::size_t free_;
  http::Waiters waiters_;
};

/// Does `work(0)` to `work(count - 1)`, up to `at_once` side by side, each in a task of its own,
/// and waits for all. After a failure no more are begun. Returns the first failure.
template <class Work>
[[nodiscard]] Status each(http::Loop& loop, std::size_t count, std::size_t at_once, Work work) {
  std::size_t next = 0;
  std::size_t running = std::min(count, at_once);
  Status first;
  http::Waiters waiters;
  for (std::size_t worker = running; worker > 0; --worker) {
    loop.spawn([&] {
      while (first && next < count) {
        Status done = work(next++);
        if (!done && first) {
          first = std::move(done);
        }
      }
      --running;
      loop.wake(waiters);
    });
  }
  loop.await(waiters, [&] { return running == 0; });
  return first;
}

}  // namespace mesh::registry
