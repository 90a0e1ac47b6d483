#pragma once

#include <functional>
#include <utility>

#include "http/fiber.h"

namespace mesh::http {

/// A fiber as the loop schedules it; the room's own.
class Task {
 public:
  explicit Task(std::function<void()> body) : fiber(std::move(body)) {}
  Fiber fiber;
  bool ready = true;  // stands in the loop's queue
};

}  // namespace mesh::http
