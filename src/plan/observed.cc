#include "plan/observed.h"

#include <algorithm>
#include <tuple>

namespace mesh::plan {

namespace {

std::uint64_t number(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<std::uint64_t>() : 0;
}

Position position(const nlohmann::json& info, const char* key) {
  const auto found = info.find(key);
  if (found == info.end() || !found->is_object()) {
    return {};
  }
  return {number(*found, "stream_seq"), number(*found, "consumer_seq")};
}

Result<std::string> text(const nlohmann::json& object, const char* key) {
  if (object.is_object()) {
    const auto found = object.find(key);
    if (found != object.end() && found->is_string()) {
      return found->get<std::string>();
    }
  }
  return fail(Code::Corrupt, std::string("the bus answered without ") + key);
}

Result<nlohmann::json> config_of(const nlohmann::json& info) {
  const auto found = info.find("config");
  if (found == info.end() || !found->is_object()) {
    return fail(Code::Corrupt, "the bus answered without config");
  }
  return *found;
}

auto key(const ObservedConsumer& consumer) {
  return std::tie(consumer.stream, consumer.name);
}

}  // namespace

const ObservedStream* Observed::stream(std::string_view name) const {
  const auto found = std::lower_bound(
      streams.begin(), streams.end(), name,
      [](const ObservedStream& stream, std::string_view wanted) { return stream.name < wanted; });
  return found != streams.end() && found->name == name ? &*found : nullptr;
}

const ObservedConsumer* Observed::consumer(std::string_view stream, std::string_view name) const {
  const auto wanted = std::tie(stream, name);
  const auto found = std::lower_bound(consumers.begin(), consumers.end(), wanted,
                                      [](const ObservedConsumer& one, const auto& other) {
                                        return std::tuple<std::string_view, std::string_view>(
                                                   one.stream, one.name) < other;
                                      });
  return found != consumers.end() && found->stream == stream && found->name == name ? &*found
                                                                                    : nullptr;
}

void Observed::sort() {
  std::sort(streams.begin(), streams.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  std::sort(consumers.begin(), consumers.end(),
            [](const auto& a, const auto& b) { return key(a) < key(b); });
}

Result<ObservedStream> observed_stream(const nlohmann::json& info) {
  ObservedStream stream;
  MESH_TRY(stream.config, config_of(info));
  MESH_TRY(stream.name, text(stream.config, "name"));
  const auto state = info.find("state");
  if (state == info.end() || !state->is_object()) {
    return fail(Code::Corrupt, "the bus answered without the state of stream " + stream.name);
  }
  stream.messages = number(*state, "messages");
  stream.bytes = number(*state, "bytes");
  stream.first = number(*state, "first_seq");
  stream.last = number(*state, "last_seq");
  if (const auto time = state->find("last_ts"); time != state->end() && time->is_string()) {
    stream.last_time = time->get<std::string>();
  }
  return stream;
}

Result<ObservedConsumer> observed_consumer(const nlohmann::json& info) {
  ObservedConsumer consumer;
  MESH_TRY(consumer.config, config_of(info));
  MESH_TRY(consumer.stream, text(info, "stream_name"));
  MESH_TRY(consumer.name, text(info, "name"));
  consumer.delivered = position(info, "delivered");
  consumer.ack_floor = position(info, "ack_floor");
  consumer.waiting = number(info, "num_pending");
  consumer.unacknowledged = number(info, "num_ack_pending");
  return consumer;
}

std::string mesh_id_of(const nlohmann::json& config) {
  const auto metadata = config.find("metadata");
  if (metadata == config.end() || !metadata->is_object()) {
    return {};
  }
  const auto id = metadata->find("mesh.id");
  return id != metadata->end() && id->is_string() ? id->get<std::string>() : std::string();
}

std::uint64_t redelivered_after(const ObservedConsumer& consumer) {
  const auto past = [](std::uint64_t delivered, std::uint64_t floor) {
    return delivered > floor ? delivered - floor : 0;
  };
  return std::min(past(consumer.delivered.stream, consumer.ack_floor.stream),
                  past(consumer.delivered.consumer, consumer.ack_floor.consumer));
}

}  // namespace mesh::plan
