#include "bus/subscription.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "bus/nats_message.h"

namespace mesh::bus {

namespace {

// The library is given a shared owner, and gives it back when its delivery thread has ended. A
// template, since the state's type is private to Subscription.
template <class State>
void came(natsConnection* /*connection*/, natsSubscription* /*subscription*/, natsMsg* message,
          void* closure) {
  (*static_cast<std::shared_ptr<State>*>(closure))->deliver(message);
}

template <class State>
void completed(void* closure) {
  const std::unique_ptr<std::shared_ptr<State>> owner(
      static_cast<std::shared_ptr<State>*>(closure));
  {
    const std::lock_guard lock((*owner)->mutex);
    (*owner)->done = true;
  }
  (*owner)->ended.notify_all();
}

}  // namespace

Result<std::shared_ptr<Subscription::State>> Subscription::State::make(
    natsConnection* connection, std::string_view subject, std::string_view queue,
    std::function<void(Message)> on_message) {
  MESH_CHECK(check_subject(subject));
  auto state = std::make_shared<State>();
  state->on_message = std::move(on_message);
  auto owner = std::make_unique<std::shared_ptr<State>>(state);
  const std::string on(subject);
  const std::string group(queue);
  natsStatus status =
      group.empty() ? natsConnection_Subscribe(&state->subscription, connection, on.c_str(),
                                               &came<State>, owner.get())
                    : natsConnection_QueueSubscribe(&state->subscription, connection, on.c_str(),
                                                    group.c_str(), &came<State>, owner.get());
  if (status == NATS_OK) {
    status =
        natsSubscription_SetOnCompleteCB(state->subscription, &completed<State>, owner.release());
  }
  if (status != NATS_OK) {
    // Without the second call (the connection closed in between) nothing tells when the thread
    // ends: what it may still use is left to it.
    natsSubscription_Destroy(std::exchange(state->subscription, nullptr));
    return nats_failure(status, fmt::format("subscribe to {}", subject));
  }
  return state;
}

void Subscription::State::end() {
  natsSubscription_Destroy(std::exchange(subscription, nullptr));
  std::unique_lock lock(mutex);
  if (thread != std::this_thread::get_id()) {
    ended.wait(lock, [&] { return done; });
  }
}

void Subscription::State::deliver(natsMsg* raw) {
  const NatsMessage message(raw);
  {
    const std::lock_guard lock(mutex);
    thread = std::this_thread::get_id();
  }
  on_message(read_message(message.get()));
}

Subscription::Subscription(std::shared_ptr<State> state) : state_(std::move(state)) {}
Subscription::Subscription(Subscription&& other) noexcept = default;

Subscription& Subscription::operator=(Subscription&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

Subscription::~Subscription() {
  if (state_) {
    state_->end();
  }
}

}  // namespace mesh::bus
