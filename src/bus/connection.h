#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bus/message.h"

namespace mesh::bus {

using Milliseconds = std::chrono::milliseconds;

enum class Link { Lost, Back, Closed };

struct ConnectOptions {
  std::vector<std::string> urls;  // nats://host:port or tls://host:port; tried in this order
  std::string user;
  std::string password;          // goes to the server and nowhere else
  std::string ca_pem;            // trusted certificates in PEM form; empty: the system's
  std::string inbox = "_INBOX";  // prefix of the subjects on which answers come
  std::string name;              // shown in the server's list of connections
  Milliseconds timeout{5000};    // to connect
  bool reconnect = false;        // for ever, once a second; a verb of the command line does not
  std::function<void(Link)> on_link;  // from a thread of the library
};

class ConnectionState;

/// A subscription; ends with its life. After the destructor no callback runs any more (a callback
/// may destroy its own subscription). Must not outlive the process's last use of the callback's
/// data.
class Subscription {
 public:
  Subscription() = default;
  Subscription(Subscription&&) noexcept;
  Subscription& operator=(Subscription&&) noexcept;
  ~Subscription();

 private:
  friend class Connection;
  friend class ConnectionState;
  struct State;
  explicit Subscription(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

/// One connection to the bus over libnats (3.4 or later): two threads of the library, and one for
/// each subscription. All members may be called from several threads. Errors by code:
/// `PermissionDenied` (login refused, or a subject that the user may not use, which the text
/// names), `Unavailable` (nobody listens, nobody answers such requests, connection lost),
/// `Timeout`, `InvalidArgument` (subject or payload that cannot be sent).
class Connection {
 public:
  [[nodiscard]] static Result<Connection> connect(const ConnectOptions& options);
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;
  ~Connection();

  /// The answer to one request. A refused subject is `PermissionDenied` at once, not a timeout.
  [[nodiscard]] Result<Message> request(std::string_view subject, std::string_view payload,
                                        Milliseconds timeout, std::span<const Header> headers = {});

  /// A request that may have several answers: calls `on_answer` for each on the calling thread,
  /// until it returns zero, or nothing came for as long as it returned, or `timeout` is over.
  /// `Timeout` and `Unavailable` only where not one answer came.
  [[nodiscard]] Status request_stream(std::string_view subject, std::string_view payload,
                                      Milliseconds timeout,
                                      const std::function<Milliseconds(Message)>& on_answer);

  /// Sends `requests` in order with at most `in_flight` unanswered, and calls `on_answer(index,
  /// answer)` once for each, in the order of the answers, on the calling thread. `timeout` is for
  /// each request from when it was sent.
  void request_many(std::span<const Request> requests, std::size_t in_flight, Milliseconds timeout,
                    const std::function<void(std::size_t, Result<Message>)>& on_answer);

  /// Sends; delivery is not known. `flush` tells whether the server took or refused it.
  [[nodiscard]] Status publish(std::string_view subject, std::string_view payload,
                               std::span<const Header> headers = {}, std::string_view reply = {});

  /// `on_message` runs on the subscription's own thread, one at a time. `queue` may be empty. The
  /// server's refusal comes with the next `flush`.
  [[nodiscard]] Result<Subscription> subscribe(std::string_view subject, std::string_view queue,
                                               std::function<void(Message)> on_message);

  /// Returns when the server has read everything sent before. `PermissionDenied` where it refused
  /// one of the publishes or subscriptions since the last flush (requests report their own).
  [[nodiscard]] Status flush(Milliseconds timeout);

  /// A new subject under the inbox prefix, that nobody else has.
  [[nodiscard]] std::string new_inbox() const;

  [[nodiscard]] bool is_connected() const;
  [[nodiscard]] const std::string& user() const;

 private:
  explicit Connection(std::shared_ptr<ConnectionState> state);
  std::shared_ptr<ConnectionState> state_;
};

}  // namespace mesh::bus
