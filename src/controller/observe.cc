#include "controller/observe.h"

#include "bus/jetstream.h"
#include "model/subjects.h"

namespace mesh::controller {

namespace {

plan::ObservedStream observed(bus::StreamInfo info) {
  return {std::move(info.name),
          std::move(info.config),
          info.messages,
          info.bytes,
          info.first_sequence,
          info.last_sequence,
          std::move(info.last_time)};
}

plan::ObservedConsumer observed(bus::ConsumerInfo info) {
  plan::ObservedConsumer out;
  out.stream = std::move(info.stream);
  out.name = std::move(info.name);
  out.config = std::move(info.config);
  out.delivered = {info.delivered, info.deliveries};
  out.ack_floor = {info.ack_floor, info.ack_floor_deliveries};
  out.waiting = info.pending;
  out.unacknowledged = info.ack_pending;
  return out;
}

}  // namespace

Result<plan::Observed> observe(bus::Connection& mesh, Steps& steps) {
  bus::JetStream jetstream(mesh);
  plan::Observed out;
  MESH_CHECK(steps.next("list the streams"));
  MESH_TRY(auto streams, jetstream.streams());
  for (auto& stream : streams) {
    if (stream.consumers > 0) {
      MESH_CHECK(steps.next("list the consumers of " + stream.name));
      MESH_TRY(auto consumers, jetstream.consumers(stream.name));
      for (auto& consumer : consumers) {
        out.consumers.push_back(observed(std::move(consumer)));
      }
    }
    out.streams.push_back(observed(std::move(stream)));
  }
  out.sort();
  return out;
}

Result<std::map<plan::Matching, std::uint64_t>> count_matching(
    bus::Connection& mesh, std::span<const plan::Matching> questions, Steps& steps) {
  bus::JetStream jetstream(mesh);
  std::map<plan::Matching, std::uint64_t> counts;
  for (const auto& question : questions) {
    MESH_CHECK(steps.next("count the messages of " + question.second));
    MESH_TRY(const auto info, jetstream.stream(question.first, question.second));
    auto& count = counts[question];
    for (const auto& [subject, messages] : info.subjects) {
      count += messages;
    }
  }
  return counts;
}

Result<std::set<std::string>> connected_users(bus::Connection& system, Steps& steps) {
  MESH_CHECK(steps.next("list who is connected"));
  MESH_TRY(const auto clients, bus::SystemAccount(system).clients());
  std::set<std::string> users;
  for (const auto& client : clients) {
    if (client.user != model::kController && client.user != model::kControllerSystem) {
      users.insert(client.user);
    }
  }
  return users;
}

}  // namespace mesh::controller
