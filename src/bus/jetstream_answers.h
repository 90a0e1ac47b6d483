#pragma once

// What JetStream is asked and what it answers, as values. Pure.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "bus/message.h"

namespace mesh::bus {

struct StreamInfo {
  std::string name;
  nlohmann::json config;  // as the server echoes it
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t deleted = 0;  // holes between the first and the last
  std::uint64_t first_sequence = 0;
  std::uint64_t last_sequence = 0;
  std::string first_time;  // RFC 3339, of the first message
  std::string last_time;
  std::uint64_t consumers = 0;
  std::map<std::string, std::uint64_t> subjects;  // messages of each, where they were asked for
};

struct ConsumerInfo {
  std::string stream;
  std::string name;
  nlohmann::json config;                   // as the server echoes it
  std::string created;                     // RFC 3339
  std::uint64_t delivered = 0;             // stream sequence of the last delivery
  std::uint64_t ack_floor = 0;             // stream sequence up to which all is acknowledged
  std::uint64_t deliveries = 0;            // deliveries so far, each repetition counted
  std::uint64_t ack_floor_deliveries = 0;  // the delivery up to which all is acknowledged
  std::uint64_t pending = 0;               // not yet delivered
  std::uint64_t ack_pending = 0;           // delivered, not yet acknowledged
  std::uint64_t redelivered = 0;
  std::uint64_t waiting = 0;  // pulls that wait
  bool push_bound = false;    // somebody hears its deliver subject
};

/// What JetStream says of the account.
struct AccountInfo {
  std::uint64_t streams = 0;
  std::uint64_t consumers = 0;
  std::uint64_t storage = 0;  // bytes on disk
  std::uint64_t memory = 0;   // bytes
  std::int64_t storage_limit = -1;
  std::uint64_t requests = 0;  // of the API, since the server started
};

/// A message kept in a stream.
struct StoredMessage {
  std::string subject;
  std::uint64_t sequence = 0;
  std::string data;
  std::vector<Header> headers;
  std::string time;  // RFC 3339
};

/// What the server says of a message it stored.
struct Stored {
  std::string stream;
  std::uint64_t sequence = 0;
  bool duplicate = false;
};

struct WantedConsumerConfig {
  std::string stream;
  nlohmann::json config;  // has `name`; `durable_name` is set from it
};

enum class Raise { Create, Update };

/// The request that creates or updates a consumer: `CREATE.<stream>.<name>`, and `.<filter>` behind
/// where the configuration has a single filter (the server demands that they agree).
[[nodiscard]] Request consumer_request(const WantedConsumerConfig& wanted, Raise how);

/// What an answer of `$JS.API` holds, or its error (see JetStream).
[[nodiscard]] Result<nlohmann::json> read_api_answer(const Message& answer);

/// The server's own number of an error that JetStream answered (10059, 10148, …), or 0.
[[nodiscard]] int api_error_number(const Error& error);

/// The parts of an answer; a field that is not there stays as it is by default.
[[nodiscard]] StreamInfo read_stream_info(const nlohmann::json& info);
[[nodiscard]] ConsumerInfo read_consumer_info(const nlohmann::json& info);
[[nodiscard]] AccountInfo read_account_info(const nlohmann::json& info);
/// `Corrupt` where it is not in the form of `STREAM.MSG.GET`.
[[nodiscard]] Result<StoredMessage> read_stored_message(const nlohmann::json& answer);

/// The headers in the raw block `NATS/1.0\r\nName: value\r\n\r\n`.
[[nodiscard]] std::vector<Header> read_header_block(std::string_view block);

}  // namespace mesh::bus
