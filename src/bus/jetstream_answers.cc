#include "bus/jetstream_answers.h"

#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "bus/json_fields.h"

namespace mesh::bus {

namespace {

using nlohmann::json;

/// nats-server's err_code where its meaning is closer than that of its HTTP-like code (the names
/// are in its server/errors.json; the same from 2.10 to 2.15).
std::optional<Code> code_of_number(std::int64_t number) {
  switch (number) {
    case 10014:  // consumer not found
    case 10059:  // stream not found
    case 10037:  // no message found
    case 10043:  // sequence not found
    case 10149:  // update of a consumer that does not exist
      return Code::NotFound;
    case 10013:  // consumer name in use
    case 10058:  // stream name in use with another configuration
    case 10065:  // subjects overlap
    case 10070:  // wrong last message id
    case 10071:  // wrong last sequence
    case 10099:  // work queue: second consumer
    case 10100:  // work queue: overlapping filter
    case 10105:  // consumer exists and is active
    case 10148:  // create of a consumer that exists otherwise
    case 10164:  // wrong last sequence, not told
      return Code::Conflict;
    case 10002:  // limits of the account
    case 10026:  // most consumers
    case 10027:  // most streams
    case 10028:  // memory
    case 10039:  // JetStream not enabled for the account
    case 10047:  // storage
    case 10074:  // replicas without a cluster
    case 10076:  // JetStream not enabled
    case 10185:  // API level
      return Code::Unsupported;
    default:
      return std::nullopt;
  }
}

Code code_of_status(std::int64_t status) {
  switch (status) {
    case 403:
      return Code::PermissionDenied;
    case 404:
      return Code::NotFound;
    case 408:
      return Code::Timeout;
    case 409:
      return Code::Conflict;
    case 412:
      return Code::Unsupported;
    case 429:
    case 503:
      return Code::Unavailable;
    default:
      // 500 too: it stands for most configurations that a stream may not have.
      return Code::InvalidArgument;
  }
}

constexpr std::string_view kNumberMark = " (err_code ";

int digit_of(char c) {
  if (c >= 'A' && c <= 'Z') {
    return c - 'A';
  }
  if (c >= 'a' && c <= 'z') {
    return c - 'a' + 26;
  }
  if (c >= '0' && c <= '9') {
    return c - '0' + 52;
  }
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

std::optional<std::string> decode_base64(std::string_view text) {
  std::string bytes;
  std::uint32_t bits = 0;
  int have = 0;
  while (text.ends_with('=')) {
    text.remove_suffix(1);
  }
  for (const char c : text) {
    const int digit = digit_of(c);
    if (digit < 0) {
      return std::nullopt;
    }
    bits = (bits << 6U) | static_cast<std::uint32_t>(digit);
    have += 6;
    if (have >= 8) {
      have -= 8;
      bytes.push_back(static_cast<char>((bits >> static_cast<unsigned>(have)) & 0xffU));
    }
  }
  return bytes;
}

}  // namespace

Request consumer_request(const WantedConsumerConfig& wanted, Raise how) {
  json config = wanted.config;
  const std::string name = text(config, "name");
  // Without both the server takes it for an ephemeral consumer (err_code 10020).
  config["durable_name"] = name;
  std::string subject = fmt::format("$JS.API.CONSUMER.CREATE.{}.{}", wanted.stream, name);
  if (const std::string filter = text(config, "filter_subject"); !filter.empty()) {
    subject += "." + filter;
  }
  const json body{{"stream_name", wanted.stream},
                  {"config", std::move(config)},
                  {"action", how == Raise::Create ? "create" : "update"}};
  return {std::move(subject), body.dump(), {}};
}

Result<json> read_api_answer(const Message& answer) {
  json read = json::parse(answer.data, nullptr, false);
  if (!read.is_object()) {
    return fail(Code::Corrupt, with_words("the bus answered what is not JSON", answer.data, 120));
  }
  const json& error = field(read, "error");
  if (error.is_object()) {
    const std::int64_t number = integer(error, "err_code", 0);
    const Code code = code_of_number(number).value_or(code_of_status(integer(error, "code", 500)));
    const auto words = printable(text(error, "description"), 500);
    return fail(code, fmt::format("{}{}{})", words.empty() ? "the bus refused it" : words,
                                  kNumberMark, number));
  }
  return read;
}

int api_error_number(const Error& error) {
  const std::size_t at = error.message.rfind(kNumberMark);
  int number = 0;
  if (at != std::string::npos) {
    const std::string_view digits = std::string_view(error.message).substr(at + kNumberMark.size());
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
  }
  return number;
}

StreamInfo read_stream_info(const json& info) {
  const json& state = field(info, "state");
  StreamInfo read;
  read.config = field(info, "config");
  read.name = text(read.config, "name");
  read.messages = count(state, "messages");
  read.bytes = count(state, "bytes");
  read.deleted = count(state, "num_deleted");
  read.first_sequence = count(state, "first_seq");
  read.last_sequence = count(state, "last_seq");
  read.first_time = text(state, "first_ts");
  read.last_time = text(state, "last_ts");
  read.consumers = count(state, "consumer_count");
  const json& subjects = field(state, "subjects");
  for (const auto& [subject, messages] : subjects.items()) {
    read.subjects.emplace(subject, count(subjects, subject.c_str()));
  }
  return read;
}

ConsumerInfo read_consumer_info(const json& info) {
  ConsumerInfo read;
  read.stream = text(info, "stream_name");
  read.name = text(info, "name");
  read.config = field(info, "config");
  read.created = text(info, "created");
  read.delivered = count(field(info, "delivered"), "stream_seq");
  read.ack_floor = count(field(info, "ack_floor"), "stream_seq");
  read.deliveries = count(field(info, "delivered"), "consumer_seq");
  read.ack_floor_deliveries = count(field(info, "ack_floor"), "consumer_seq");
  read.pending = count(info, "num_pending");
  read.ack_pending = count(info, "num_ack_pending");
  read.redelivered = count(info, "num_redelivered");
  read.waiting = count(info, "num_waiting");
  read.push_bound = flag(info, "push_bound");
  return read;
}

AccountInfo read_account_info(const json& info) {
  AccountInfo read;
  read.streams = count(info, "streams");
  read.consumers = count(info, "consumers");
  read.storage = count(info, "storage");
  read.memory = count(info, "memory");
  read.storage_limit = integer(field(info, "limits"), "max_storage", -1);
  read.requests = count(field(info, "api"), "total");
  return read;
}

Result<StoredMessage> read_stored_message(const json& answer) {
  const json& message = field(answer, "message");
  const auto data = decode_base64(text(message, "data"));
  const auto headers = decode_base64(text(message, "hdrs"));
  if (!message.is_object() || !data || !headers) {
    return fail(Code::Corrupt, "the bus answered a message that cannot be read");
  }
  return StoredMessage{text(message, "subject"), count(message, "seq"), *data,
                       read_header_block(*headers), text(message, "time")};
}

std::vector<Header> read_header_block(std::string_view block) {
  std::vector<Header> headers;
  std::size_t at = block.find("\r\n");  // after the version line
  while (at != std::string_view::npos) {
    block.remove_prefix(at + 2);
    at = block.find("\r\n");
    const std::string_view line = block.substr(0, at);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      continue;
    }
    std::string_view value = line.substr(colon + 1);
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    headers.push_back({std::string(line.substr(0, colon)), std::string(value)});
  }
  return headers;
}

}  // namespace mesh::bus
