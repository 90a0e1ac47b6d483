#include "bus/connection.h"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "bus/connection_state.h"
#include "bus/subscription.h"

namespace mesh::bus {

namespace {

using Clock = std::chrono::steady_clock;

Error too_late(std::string_view subject, Milliseconds timeout) {
  return Error{
      Code::Timeout, fmt::format("no answer to {} within {} ms", subject, timeout.count()), {}, {}};
}

/// Removes a request however its caller leaves.
class Registration {
 public:
  Registration(PendingRequests& pending, std::string token)
      : pending_(pending), token_(std::move(token)) {}
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  ~Registration() { pending_.remove(token_); }

 private:
  PendingRequests& pending_;
  std::string token_;
};

/// One call of request_many: a window of requests under way.
class Pipeline {
 public:
  using OnAnswer = std::function<void(std::size_t, Result<Message>)>;

  Pipeline(ConnectionState& connection, std::span<const Request> requests, Milliseconds timeout,
           const OnAnswer& on_answer)
      : connection_(connection), requests_(requests), timeout_(timeout), on_answer_(on_answer) {}

  void run(std::size_t in_flight) {
    while (sent_ < requests_.size() || !under_way_.empty()) {
      if (sent_ < requests_.size() && under_way_.size() < in_flight) {
        send_next();
      } else {
        take_one();
      }
    }
  }

 private:
  void send_next() {
    const std::size_t index = sent_++;
    auto token = connection_.send_request(requests_[index], answers_, index, false);
    if (!token) {
      on_answer_(index, std::unexpected(std::move(token).error()));
      return;
    }
    under_way_.emplace(index, *std::move(token));
    deadlines_.emplace_back(Clock::now() + timeout_, index);
  }

  void take_one() {
    // The oldest that is still under way is the first to be late: all have the same time.
    while (!under_way_.contains(deadlines_.front().second)) {
      deadlines_.pop_front();
    }
    const auto [deadline, oldest] = deadlines_.front();
    if (auto answer = answers_->take(deadline)) {
      if (under_way_.erase(answer->index) == 1) {
        on_answer_(answer->index, std::move(answer->message));
      }
      return;
    }
    connection_.pending().remove(under_way_.extract(oldest).mapped());
    on_answer_(oldest, std::unexpected(too_late(requests_[oldest].subject, timeout_)));
  }

  ConnectionState& connection_;
  std::span<const Request> requests_;
  Milliseconds timeout_;
  const OnAnswer& on_answer_;
  std::shared_ptr<Answers> answers_ = std::make_shared<Answers>();
  std::size_t sent_ = 0;
  std::unordered_map<std::size_t, std::string> under_way_;
  std::deque<std::pair<Deadline, std::size_t>> deadlines_;
};

}  // namespace

Connection::Connection(std::shared_ptr<ConnectionState> state) : state_(std::move(state)) {}
Connection::Connection(Connection&&) noexcept = default;

Connection& Connection::operator=(Connection&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

Connection::~Connection() {
  if (state_) {
    state_->close();
  }
}

Result<Connection> Connection::connect(const ConnectOptions& options) {
  auto state = std::make_shared<ConnectionState>(options);
  MESH_CHECK(state->open(options));
  return Connection(std::move(state));
}

Result<Message> Connection::request(std::string_view subject, std::string_view payload,
                                    Milliseconds timeout, std::span<const Header> headers) {
  const Request request{
      std::string(subject), std::string(payload), {headers.begin(), headers.end()}};
  Result<Message> result = fail(Code::Internal, "no answer was given");
  request_many({&request, 1}, 1, timeout,
               [&](std::size_t, Result<Message> answer) { result = std::move(answer); });
  return result;
}

Status Connection::request_stream(std::string_view subject, std::string_view payload,
                                  Milliseconds timeout,
                                  const std::function<Milliseconds(Message)>& on_answer) {
  const auto answers = std::make_shared<Answers>();
  MESH_CHECK(state_->hear_answers());
  const std::string token = state_->pending().add(subject, answers, 0, true);
  const Registration registration(state_->pending(), token);
  MESH_TRY(const Subscription inbox, state_->send_own_request(subject, payload, token));
  const Deadline end = Clock::now() + timeout;
  auto answer = answers->take(end);
  if (!answer) {
    return std::unexpected(too_late(subject, timeout));
  }
  MESH_TRY(Message first, std::move(answer->message));
  Milliseconds quiet = on_answer(std::move(first));
  while (quiet > Milliseconds::zero()) {
    answer = answers->take(std::min(end, Clock::now() + quiet));
    if (!answer || !answer->message) {
      break;
    }
    quiet = on_answer(std::move(*answer->message));
  }
  return {};
}

void Connection::request_many(std::span<const Request> requests, std::size_t in_flight,
                              Milliseconds timeout,
                              const std::function<void(std::size_t, Result<Message>)>& on_answer) {
  Pipeline(*state_, requests, timeout, on_answer).run(std::max<std::size_t>(in_flight, 1));
}

Status Connection::publish(std::string_view subject, std::string_view payload,
                           std::span<const Header> headers, std::string_view reply) {
  return state_->send(subject, payload, headers, reply);
}

Result<Subscription> Connection::subscribe(std::string_view subject, std::string_view queue,
                                           std::function<void(Message)> on_message) {
  MESH_TRY(auto state,
           Subscription::State::make(state_->raw(), subject, queue, std::move(on_message)));
  return Subscription(std::move(state));
}

Status Connection::flush(Milliseconds timeout) {
  return state_->flush(timeout);
}

std::string Connection::new_inbox() const {
  return state_->new_inbox();
}

bool Connection::is_connected() const {
  return state_->check_connected().has_value();
}

const std::string& Connection::user() const {
  return state_->user();
}

}  // namespace mesh::bus
