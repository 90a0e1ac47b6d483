#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mesh::test {

using Milliseconds = std::chrono::milliseconds;

/// A message as the server wrote it.
struct RawMessage {
  std::string subject;
  std::string sid;
  std::string reply;
  std::string header;  // the raw header block, `NATS/1.0 …\r\n\r\n`; empty for MSG
  std::string payload;
};

/// What was read since: messages and the texts of `-ERR`.
struct RawHeard {
  std::vector<RawMessage> messages;
  std::vector<std::string> errors;  // without quotes, as `Permissions Violation for Publish to "x"`
};

/// A client that speaks the protocol of NATS over a plain TCP connection and does nothing by
/// itself: any subject, any reply, any header goes out as given, so that a test can do what an
/// attacker can. One thread only.
class RawClient {
 public:
  /// Connects and logs in. A refused login is `PermissionDenied` with the server's words.
  [[nodiscard]] static Result<RawClient> connect(int port, std::string_view user,
                                                 std::string_view password,
                                                 Milliseconds timeout = Milliseconds{5000});
  RawClient(RawClient&&) noexcept;
  RawClient& operator=(RawClient&&) noexcept;
  ~RawClient();

  [[nodiscard]] Status publish(std::string_view subject, std::string_view payload,
                               std::string_view reply = {});
  /// `header` is the raw block, `NATS/1.0\r\nName: value\r\n\r\n`.
  [[nodiscard]] Status publish_with_header(std::string_view subject, std::string_view header,
                                           std::string_view payload, std::string_view reply = {});
  [[nodiscard]] Status subscribe(std::string_view subject, std::string_view sid,
                                 std::string_view queue = {});
  [[nodiscard]] Status unsubscribe(std::string_view sid, int after = 0);
  /// Any bytes.
  [[nodiscard]] Status send(std::string_view bytes);

  /// Waits for one message of subscription `sid` (empty: any). `Timeout` where none comes; what
  /// else came stays for `take`.
  [[nodiscard]] Result<RawMessage> next(Milliseconds timeout, std::string_view sid = {});
  /// Waits for one `-ERR`.
  [[nodiscard]] Result<std::string> next_error(Milliseconds timeout);
  /// PING and its PONG: the server has read all that was sent, and its refusals have come.
  [[nodiscard]] Status sync(Milliseconds timeout = Milliseconds{5000});
  /// Everything heard and not yet taken.
  [[nodiscard]] RawHeard take();
  /// sync, then take: what the server said to what was sent so far.
  [[nodiscard]] Result<RawHeard> settle(Milliseconds timeout = Milliseconds{5000});

  /// Subscribes to a fresh inbox `inbox` once, publishes with it as reply and waits.
  [[nodiscard]] Result<RawMessage> request(std::string_view subject, std::string_view payload,
                                           std::string_view inbox,
                                           Milliseconds timeout = Milliseconds{2000});

  /// False once the server closed the connection.
  [[nodiscard]] bool is_open() const;

 private:
  struct State;
  explicit RawClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace mesh::test
