#pragma once

// Included by this room's sources alone.

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

#include <nats/nats.h>

#include "base/result.h"
#include "bus/connection.h"

namespace mesh::bus {

/// What the library's delivery thread needs; lives until that thread has ended.
struct Subscription::State {
  std::function<void(Message)> on_message;
  natsSubscription* subscription = nullptr;
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  std::thread::id thread;  // of the delivery, once a message came

  /// Makes the subscription on `connection`.
  [[nodiscard]] static Result<std::shared_ptr<State>> make(natsConnection* connection,
                                                           std::string_view subject,
                                                           std::string_view queue,
                                                           std::function<void(Message)> on_message);
  /// Ends it, and returns when no callback runs any more, but for the one that calls this.
  void end();
  void deliver(natsMsg* message);
};

}  // namespace mesh::bus
