#include "controller/observe.h"

#include <algorithm>
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

/// The first message at or behind `from` that matches, or nothing.
Result<std::optional<nlohmann::json>> next_message(bus::Connection& mesh, const std::string& stream,
                                                   const std::string& filter, std::uint64_t from,
                                                   bus::Milliseconds timeout) {
  const nlohmann::json question = {{"seq", from}, {"next_by_subj", filter}};
  MESH_TRY(const auto answer,
           mesh.request("$JS.API.STREAM.MSG.GET." + stream, question.dump(), timeout));
  auto found = bus::read_api_answer(answer);
  if (!found) {
    return found.error().code == Code::NotFound
               ? Result<std::optional<nlohmann::json>>(std::nullopt)
               : std::unexpected(std::move(found).error());
  }
  const auto message = found->find("message");
  return message == found->end() ? std::nullopt : std::optional(*message);
}

/// The sequence of the first message that was stored at `since` or later; it is at most `most`.
Result<std::uint64_t> first_since(bus::Connection& mesh, const std::string& stream,
                                  os::WallTime since, std::uint64_t most, Steps& steps) {
  std::uint64_t low = 1;
  while (low < most) {
    const auto middle = low + (most - low) / 2;
    MESH_TRY(const auto found, next_message(mesh, stream, ">", middle, at_most(kTimeout, steps)));
    const auto time = os::parse_rfc3339(found ? found->value("time", "") : "");
    if (!time || *time >= since) {
      most = middle;
    } else {
      low = std::max(middle, found->value("seq", middle)) + 1;
    }
  }
  return most;
}

/// Before its first acknowledgement a consumer's floor is 0 to 2.10, and to 2.15 what stands before
/// its start, as it is meant: what is older is none of its.
Status settle_floor(bus::Connection& mesh, plan::ObservedConsumer& consumer,
                    const std::string& created, Steps& steps) {
  const auto policy = consumer.config.value("deliver_policy", "all");
  if (consumer.ack_floor.stream > 0 || consumer.ack_floor.consumer > 0) {
    return {};
  }
  if (policy == "by_start_sequence") {
    const auto start = consumer.config.value("opt_start_seq", std::uint64_t{1});
    consumer.ack_floor.stream = start > 0 ? start - 1 : 0;
    return {};
  }
  const auto since =
      os::parse_rfc3339(policy == "new" ? created : consumer.config.value("opt_start_time", ""));
  if ((policy != "new" && policy != "by_start_time") || !since) {
    return {};
  }
  if (consumer.delivered.consumer == 0) {
    consumer.ack_floor.stream = consumer.delivered.stream;
    return {};
  }
  MESH_CHECK(steps.next("find where " + consumer.name + " started"));
  MESH_TRY(const auto first,
           first_since(mesh, consumer.stream, *since, consumer.delivered.stream, steps));
  consumer.ack_floor.stream = first - 1;
  return {};
}

/// The server counts a whole stream in one answer; where the end is in the middle, the messages
/// are walked, but not for ever: from `kMostWalked` on the answer is at most right.
Result<std::uint64_t> count(bus::Connection& mesh, const plan::Matching& question, Steps& steps) {
  bus::JetStream jetstream(mesh, at_most(kTimeout, steps));
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
    MESH_TRY(const auto found,
             next_message(mesh, question.stream, question.filter, at, at_most(kTimeout, steps)));
    const auto sequence = found ? found->value("seq", std::uint64_t{0}) : 0;
    if (!found || sequence > question.up_to) {
      break;
    }
    at = sequence + 1;
  }
  return counted;
}

}  // namespace

Result<plan::Observed> observe(bus::Connection& mesh, Steps& steps) {
  bus::JetStream jetstream(mesh, at_most(kTimeout, steps));
  plan::Observed out;
  MESH_CHECK(steps.next("list the streams"));
  MESH_TRY(auto streams, jetstream.streams());
  for (auto& stream : streams) {
    if (stream.consumers > 0) {
      MESH_CHECK(steps.next("list the consumers of " + stream.name));
      MESH_TRY(auto consumers, jetstream.consumers(stream.name));
      for (auto& consumer : consumers) {
        const auto created = consumer.created;
        out.consumers.push_back(observed(std::move(consumer)));
        MESH_CHECK(settle_floor(mesh, out.consumers.back(), created, steps));
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
      MESH_TRY(counts[question], count(mesh, question, steps));
    }
  }
  return counts;
}

Result<std::set<std::string>> connected_users(bus::Connection& system, Steps& steps) {
  MESH_CHECK(steps.next("list who is connected"));
  MESH_TRY(const auto clients, bus::SystemAccount(system, at_most(kTimeout, steps)).clients());
  std::set<std::string> users;
  for (const auto& client : clients) {
    if (client.user != model::kController && client.user != model::kControllerSystem) {
      users.insert(client.user);
    }
  }
  return users;
}

}  // namespace mesh::controller
