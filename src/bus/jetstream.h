#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "bus/connection.h"
#include "bus/jetstream_answers.h"

namespace mesh::bus {

/// JetStream's administration by raw `$JS.API` requests, the same for every server from 2.10. The
/// connection must outlive it. Each answer's error is mapped: `NotFound` (no such stream, consumer
/// or message), `Conflict` (exists with another configuration, subjects overlap, expected sequence
/// differs), `Unsupported` (JetStream is off for the account, or a limit of the server is reached),
/// `Unavailable` (no responders, no leader), `InvalidArgument` (the rest); the text ends with the
/// server's own number, as in `(10059)`.
class JetStream {
 public:
  explicit JetStream(Connection& connection, Milliseconds timeout = Milliseconds{5000});

  [[nodiscard]] Result<AccountInfo> account();

  /// All streams of the account, sorted by name.
  [[nodiscard]] Result<std::vector<StreamInfo>> streams();
  /// With `subjects` (a filter, `>` for all) also how many messages each matching subject has.
  [[nodiscard]] Result<StreamInfo> stream(std::string_view name, std::string_view subjects = {});
  /// The echo of the server, to be compared: fields that a version does not know are dropped by it
  /// in silence. Creating the same again changes nothing and succeeds.
  [[nodiscard]] Result<StreamInfo> create_stream(const nlohmann::json& config);
  [[nodiscard]] Result<StreamInfo> update_stream(const nlohmann::json& config);
  [[nodiscard]] Status delete_stream(std::string_view name);
  /// Removes messages (all, or those of subjects that match `filter`); how many.
  [[nodiscard]] Result<std::uint64_t> purge(std::string_view stream, std::string_view filter = {});

  /// All consumers of a stream, sorted by name.
  [[nodiscard]] Result<std::vector<ConsumerInfo>> consumers(std::string_view stream);
  [[nodiscard]] Result<ConsumerInfo> consumer(std::string_view stream, std::string_view name);
  /// `Create` refuses to change an existing consumer (`Conflict`) and does nothing to an equal one;
  /// `Update` refuses one that does not exist (`NotFound`).
  [[nodiscard]] Result<ConsumerInfo> raise_consumer(const WantedConsumerConfig& wanted, Raise how);
  [[nodiscard]] Status delete_consumer(std::string_view stream, std::string_view name);
  /// The same for many, `in_flight` at once; `on_echo(index, echo)` on the calling thread.
  void raise_consumers(std::span<const WantedConsumerConfig> wanted, Raise how,
                       const std::function<void(std::size_t, Result<ConsumerInfo>)>& on_echo,
                       std::size_t in_flight = 64);

  /// Publishes into a stream and waits until it is stored. `id` (Nats-Msg-Id) makes it safe to
  /// repeat.
  [[nodiscard]] Result<Stored> store(std::string_view subject, std::string_view payload,
                                     std::string_view id = {}, std::vector<Header> headers = {});
  [[nodiscard]] Result<StoredMessage> message(std::string_view stream, std::uint64_t sequence);
  [[nodiscard]] Result<StoredMessage> last_message(std::string_view stream,
                                                   std::string_view subject);
  [[nodiscard]] Status delete_message(std::string_view stream, std::uint64_t sequence);

  /// Up to `batch` messages of a pull consumer, waiting at most `wait` for the first; an empty list
  /// where none came. Acknowledge each by publishing `+ACK` to its `reply`.
  [[nodiscard]] Result<std::vector<Message>> pull(std::string_view stream,
                                                  std::string_view consumer, std::size_t batch,
                                                  Milliseconds wait);

 private:
  Connection* connection_;
  Milliseconds timeout_;
};

}  // namespace mesh::bus
