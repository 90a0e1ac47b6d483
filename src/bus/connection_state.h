#pragma once

// A connection and what libnats' threads need of it. Included by this room's sources alone.

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <nats/nats.h>

#include "base/result.h"
#include "bus/answers.h"
#include "bus/connection.h"
#include "bus/message.h"

namespace mesh::bus {

/// Shared by the Connection, its subscriptions and the library's callbacks: it lives until the last
/// callback (closed) has run.
class ConnectionState : public std::enable_shared_from_this<ConnectionState> {
 public:
  explicit ConnectionState(const ConnectOptions& options);
  ConnectionState(const ConnectionState&) = delete;
  ConnectionState& operator=(const ConnectionState&) = delete;
  ~ConnectionState();

  [[nodiscard]] Status open(const ConnectOptions& options);
  /// Closes, and returns when no callback runs any more.
  void close();

  [[nodiscard]] Status send(std::string_view subject, std::string_view payload,
                            std::span<const Header> headers, std::string_view reply);
  /// Sends a request whose answer comes to `answers` as `index`; its token, to be removed.
  [[nodiscard]] Result<std::string> send_request(const Request& request,
                                                 const std::shared_ptr<Answers>& answers,
                                                 std::size_t index, bool many);
  /// The same with an inbox of its own, for a request with several answers: what is pulled from
  /// JetStream comes with its own subject, so that the shared one could not tell whose it is.
  [[nodiscard]] Result<Subscription> send_own_request(std::string_view subject,
                                                      std::string_view payload,
                                                      const std::string& token);
  /// Subscribes to the answers, once.
  [[nodiscard]] Status hear_answers();
  [[nodiscard]] Status flush(Milliseconds timeout);

  [[nodiscard]] natsConnection* raw() const { return connection_; }
  [[nodiscard]] PendingRequests& pending() { return pending_; }
  [[nodiscard]] std::string new_inbox() const;
  [[nodiscard]] const std::string& user() const { return user_; }
  [[nodiscard]] Status check_connected() const;

 private:
  [[nodiscard]] Status subscribe_answers();
  void refused(std::string_view text);
  /// Waits until the refusals that came before the last PONG have reached `refused`.
  void wait_for_refusals(std::uint64_t before);
  void link(Link link);

  static void on_error(natsConnection* connection, natsSubscription* subscription,
                       natsStatus status, void* closure);
  static void on_disconnected(natsConnection* connection, void* closure);
  static void on_reconnected(natsConnection* connection, void* closure);
  static void on_closed(natsConnection* connection, void* closure);
  static void on_answer(natsConnection* connection, natsSubscription* subscription,
                        natsMsg* message, void* closure);

  natsConnection* connection_ = nullptr;
  std::string user_;
  std::string prefix_;
  std::string answers_;  // the subject of the answers, before the token
  Milliseconds timeout_;
  std::function<void(Link)> on_link_;
  PendingRequests pending_;

  std::mutex hear_mutex_;  // held while the answers' subscription is made
  Subscription answers_subscription_;
  bool hears_answers_ = false;

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::vector<Error> refusals_;  // not of requests; told by the next flush
  std::string last_refusal_;
  std::uint64_t refusal_count_ = 0;
  bool closed_ = false;
  std::thread::id callback_thread_;
};

}  // namespace mesh::bus
