#include "bus/connection_state.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "bus/nats_message.h"
#include "bus/subscription.h"

namespace mesh::bus {

namespace {

using Owner = std::shared_ptr<ConnectionState>;

// A refusal is known to the library before the PONG that follows it, but told by another thread.
constexpr Milliseconds kRefusalCertain{2000};
constexpr Milliseconds kRefusalPossible{20};
constexpr std::size_t kMostRefusals = 100;  // kept for a flush that may never come
constexpr Milliseconds kCloseWithin{10'000};

Error lost() {
  return Error{Code::Unavailable, "the connection to the bus was lost", {}, {}};
}

Error refusal_error(const std::string& user, const Refusal& refusal) {
  return Error{Code::PermissionDenied,
               fmt::format("the bus lets {} not {} {}", user.empty() ? "this user" : user,
                           refusal.publish ? "publish on" : "hear", printable(refusal.subject)),
               {},
               {}};
}

/// A subject under `_INBOX.` that is unique in the world, without the prefix.
std::string unique_token() {
  natsInbox* inbox = nullptr;
  if (natsInbox_Create(&inbox) != NATS_OK) {
    return "none";
  }
  std::string token(inbox);
  natsInbox_Destroy(inbox);
  return token.substr(token.rfind('.') + 1);
}

}  // namespace

ConnectionState::ConnectionState(const ConnectOptions& options)
    : user_(options.user),
      prefix_(options.inbox),
      timeout_(options.timeout),
      on_link_(options.on_link) {}

ConnectionState::~ConnectionState() {
  natsConnection_Destroy(connection_);
}

void ConnectionState::close() {
  pending_.fail_all(Error{Code::Interrupted, "the connection was closed", {}, {}});
  natsConnection_Close(connection_);
  {
    std::unique_lock lock(mutex_);
    if (connection_ != nullptr && callback_thread_ != std::this_thread::get_id()) {
      changed_.wait_for(lock, kCloseWithin, [&] { return closed_; });
    }
  }
  answers_subscription_ = Subscription{};
}

std::string ConnectionState::new_inbox() const {
  return fmt::format("{}.{}", prefix_, unique_token());
}

Status ConnectionState::check_connected() const {
  if (natsConnection_Status(connection_) != NATS_CONN_STATUS_CONNECTED) {
    return std::unexpected(lost());
  }
  return {};
}

Status ConnectionState::send(std::string_view subject, std::string_view payload,
                             std::span<const Header> headers, std::string_view reply) {
  MESH_CHECK(check_connected());
  MESH_TRY(const NatsMessage message, make_message(subject, reply, payload, headers));
  const natsStatus status = natsConnection_PublishMsg(connection_, message.get());
  if (status == NATS_MAX_PAYLOAD) {
    return fail(Code::InvalidArgument,
                fmt::format("a message of {} bytes to {} is larger than the bus takes",
                            payload.size(), subject));
  }
  if (status != NATS_OK) {
    return nats_failure(status, fmt::format("publish on {}", subject));
  }
  return {};
}

Result<std::string> ConnectionState::send_request(const Request& request,
                                                  const std::shared_ptr<Answers>& answers,
                                                  std::size_t index, bool many) {
  MESH_CHECK(hear_answers());
  std::string token = pending_.add(request.subject, answers, index, many);
  const std::string reply = fmt::format("{}.{}", answers_, token);
  if (auto sent = send(request.subject, request.payload, request.headers, reply); !sent) {
    pending_.remove(token);
    return std::unexpected(std::move(sent).error());
  }
  return token;
}

Result<Subscription> ConnectionState::send_own_request(std::string_view subject,
                                                       std::string_view payload,
                                                       const std::string& token) {
  const std::string inbox = new_inbox();
  MESH_TRY(auto state,
           Subscription::State::make(connection_, inbox, "", [this, token](Message message) {
             pending_.answer(token, std::move(message));
           }));
  natsSubscription_SetPendingLimits(state->subscription, -1, -1);
  Subscription subscription(std::move(state));
  MESH_CHECK(send(subject, payload, {}, inbox));
  return subscription;
}

Status ConnectionState::hear_answers() {
  const std::lock_guard lock(hear_mutex_);
  if (hears_answers_) {
    return {};
  }
  MESH_CHECK(subscribe_answers());
  // A user who may not hear its own answers would otherwise only see timeouts.
  if (auto taken = flush(timeout_); !taken) {
    answers_subscription_ = Subscription{};
    return within("answers to requests", std::move(taken).error());
  }
  hears_answers_ = true;
  return {};
}

Status ConnectionState::subscribe_answers() {
  answers_ = new_inbox();
  MESH_TRY(auto state,
           Subscription::State::make(connection_, answers_ + ".*", "", [this](Message message) {
             std::string token = message.subject.substr(message.subject.rfind('.') + 1);
             pending_.answer(token, std::move(message));
           }));
  // Answers are taken off at once, and a dropped one would be a timeout without a reason.
  natsSubscription_SetPendingLimits(state->subscription, -1, -1);
  answers_subscription_ = Subscription(std::move(state));
  return {};
}

Status ConnectionState::flush(Milliseconds timeout) {
  MESH_CHECK(check_connected());
  std::uint64_t before = 0;
  {
    const std::lock_guard lock(mutex_);
    before = refusal_count_;
  }
  const natsStatus status = natsConnection_FlushTimeout(connection_, timeout.count());
  if (status != NATS_OK) {
    return nats_failure(status, "the bus did not take what was sent");
  }
  wait_for_refusals(before);
  const std::lock_guard lock(mutex_);
  if (refusals_.empty()) {
    return {};
  }
  Error first = std::move(refusals_.front());
  refusals_.clear();
  return std::unexpected(std::move(first));
}

void ConnectionState::wait_for_refusals(std::uint64_t before) {
  const char* text = nullptr;
  if (natsConnection_GetLastError(connection_, &text) != NATS_NOT_PERMITTED || text == nullptr) {
    return;
  }
  const std::string last(text);
  std::unique_lock lock(mutex_);
  // The text of an older refusal stays: only another text, or another call, tells of a new one. It
  // is cut at 255 bytes here, and whole where it is told.
  const auto told = [&] { return last_refusal_.starts_with(last); };
  if (!told()) {
    changed_.wait_for(lock, kRefusalCertain, told);
  } else if (refusal_count_ == before) {
    changed_.wait_for(lock, kRefusalPossible, [&] { return refusal_count_ != before; });
  }
}

void ConnectionState::refused(std::string_view text) {
  const Refusal refusal = read_refusal(text);
  Error error = refusal_error(user_, refusal);
  const bool requests = refusal.publish && pending_.refuse(refusal.subject, error);
  {
    const std::lock_guard lock(mutex_);
    last_refusal_ = std::string(text);
    ++refusal_count_;
    if (!requests && refusals_.size() < kMostRefusals) {
      refusals_.push_back(std::move(error));
    }
  }
  changed_.notify_all();
}

void ConnectionState::link(Link link) {
  {
    const std::lock_guard lock(mutex_);
    callback_thread_ = std::this_thread::get_id();
  }
  if (link != Link::Back) {
    pending_.fail_all(lost());
  }
  if (on_link_) {
    on_link_(link);
  }
  {
    const std::lock_guard lock(mutex_);
    callback_thread_ = {};
    closed_ = closed_ || link == Link::Closed;
  }
  changed_.notify_all();
}

}  // namespace mesh::bus
