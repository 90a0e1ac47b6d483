#include "controller/observe.h"

#include <optional>

#include "bus/jetstream.h"
#include "model/subjects.h"

namespace mesh::controller {

namespace {

constexpr bus::Milliseconds kTimeout{5000};
constexpr std::uint64_t kMostWalked = 5000;

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

/// The sequence of the first message at or behind `from` that matches, or nothing.
Result<std::optional<std::uint64_t>> next_matching(bus::Connection& mesh, const std::string& stream,
                                                   const std::string& filter, std::uint64_t from) {
  const nlohmann::json question = {{"seq", from}, {"next_by_subj", filter}};
  MESH_TRY(const auto answer,
           mesh.request("$JS.API.STREAM.MSG.GET." + stream, question.dump(), kTimeout));
  auto found = bus::read_api_answer(answer);
  if (!found) {
    return found.error().code == Code::NotFound ? Result<std::optional<std::uint64_t>>(std::nullopt)
                                                : std::unexpected(std::move(found).error());
  }
  const auto message = found->find("message");
  return message == found->end() ? std::nullopt
                                 : std::optional(message->value("seq", std::uint64_t{0}));
}

/// The server counts a whole stream in one answer; where the end is in the middle, the messages
/// are walked, but not for ever: from `kMostWalked` on the answer is at most right.
Result<std::uint64_t> count(bus::Connection& mesh, const plan::Matching& question) {
  bus::JetStream jetstream(mesh);
  MESH_TRY(const auto info, jetstream.stream(question.stream, question.filter));
  std::uint64_t all = 0;
  for (const auto& [subject, messages] : info.subjects) {
    all += messages;
  }
  if (question.up_to >= info.last_sequence || all == 0 || all > kMostWalked) {
    return all;
  }
  std::uint64_t counted = 0;
  for (std::uint64_t at = 1; counted < all; ++counted) {
    MESH_TRY(const auto found, next_matching(mesh, question.stream, question.filter, at));
    if (!found || *found > question.up_to) {
      break;
    }
    at = *found + 1;
  }
  return counted;
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
  std::map<plan::Matching, std::uint64_t> counts;
  for (const auto& question : questions) {
    if (question.up_to > 0) {
      MESH_CHECK(steps.next("count the messages of " + question.filter));
      MESH_TRY(counts[question], count(mesh, question));
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
