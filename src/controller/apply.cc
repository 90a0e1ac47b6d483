#include "controller/apply.h"

#include <fmt/format.h>

#include "base/text.h"
#include "bus/jetstream.h"
#include "controller/sources.h"
#include "plan/config_diff.h"

namespace mesh::controller {

namespace {

using plan::Operation;
using plan::Request;

/// Consumers in one pipelined piece; between pieces the operator may interrupt.
constexpr std::size_t kPiece = 512;
constexpr bus::Milliseconds kRequestTimeout{5000};

Status check_echo(const Operation& operation, const nlohmann::json& answered) {
  const auto fields = plan::echo_differences(operation.config, answered);
  if (fields.empty()) {
    return {};
  }
  const auto what = operation.consumer.empty()
                        ? "stream " + operation.stream
                        : "consumer " + operation.stream + "." + operation.consumer;
  return fail(Code::Unsupported,
              fmt::format("the server did not take over {} of {}", join(fields, ", "), what),
              "this version of nats-server does not know it: run a newer one");
}

/// Streams and removals, one after the other.
class Applier {
 public:
  Applier(bus::Connection& mesh, Steps& steps, std::uint64_t& writes)
      : jetstream_(mesh, at_most(kRequestTimeout, steps)), steps_(steps), writes_(writes) {}

  Status streams(std::span<const Operation* const> operations) {
    for (const auto* operation : operations) {
      MESH_CHECK(stream(*operation));
    }
    return {};
  }

  Status consumers(std::span<const Operation* const> operations, bus::Raise how) {
    for (std::size_t at = 0; at < operations.size(); at += kPiece) {
      const auto piece = operations.subspan(at, std::min(kPiece, operations.size() - at));
      MESH_CHECK(steps_.next(fmt::format("raise {} consumers", piece.size())));
      MESH_CHECK(consumer_piece(piece, how));
    }
    return {};
  }

  Status remove(const Operation& operation) {
    MESH_CHECK(steps_.next(fmt::format("remove {} {}", operation.stream, operation.consumer)));
    const auto gone = operation.consumer.empty()
                          ? jetstream_.delete_stream(operation.stream)
                          : jetstream_.delete_consumer(operation.stream, operation.consumer);
    if (!gone && gone.error().code != Code::NotFound) {
      return within("remove " + operation.stream + " " + operation.consumer, gone.error());
    }
    writes_ += gone ? 1U : 0U;
    return {};
  }

 private:
  Status stream(const Operation& operation) {
    if (operation.request == Request::DeleteStream) {
      return remove(operation);
    }
    const bool create = operation.request == Request::CreateStream;
    MESH_CHECK(steps_.next((create ? "create stream " : "update stream ") + operation.stream));
    auto info = create ? jetstream_.create_stream(operation.config)
                       : jetstream_.update_stream(operation.config);
    if (!info) {
      return within("stream " + operation.stream, std::move(info).error());
    }
    ++writes_;
    auto same = check_taken_over(operation, info->config);
    if (!same && create) {
      MESH_CHECK(jetstream_.delete_stream(operation.stream));
    }
    return same;
  }

  Status consumer_piece(std::span<const Operation* const> piece, bus::Raise how) {
    std::vector<bus::WantedConsumerConfig> wanted;
    for (const auto* operation : piece) {
      wanted.push_back({operation->stream, operation->config});
    }
    Status first;
    const auto keep_first = [&](Status answer) {
      if (!answer && first) {
        first = std::move(answer);
      }
    };
    std::vector<std::pair<const Operation*, nlohmann::json>> doubtful;
    jetstream_.raise_consumers(wanted, how, [&](std::size_t i, Result<bus::ConsumerInfo> echo) {
      if (!echo) {
        keep_first(within(fmt::format("consumer {}.{}", piece[i]->stream, piece[i]->consumer),
                          std::move(echo).error()));
        return;
      }
      ++writes_;
      if (!check_echo(*piece[i], echo->config)) {
        doubtful.emplace_back(piece[i], std::move(echo->config));
      }
    });
    for (const auto& [operation, echo] : doubtful) {
      auto taken = check_taken_over(*operation, echo);
      if (!taken && how == bus::Raise::Create) {
        MESH_CHECK(jetstream_.delete_consumer(operation->stream, operation->consumer));
      }
      keep_first(std::move(taken));
    }
    return first;
  }

  /// The first answer to an update after the server's start can still tell the old values (2.10.27
  /// and 2.15.1), though they are replaced: what it says when it is asked counts.
  Status check_taken_over(const Operation& operation, const nlohmann::json& echo) {
    if (check_echo(operation, echo)) {
      return {};
    }
    if (operation.consumer.empty()) {
      MESH_TRY(const auto now, jetstream_.stream(operation.stream));
      return check_echo(operation, now.config);
    }
    MESH_TRY(const auto now, jetstream_.consumer(operation.stream, operation.consumer));
    return check_echo(operation, now.config);
  }

  bus::JetStream jetstream_;
  Steps& steps_;
  std::uint64_t& writes_;
};

template <class Wanted>
std::vector<const Operation*> pick(std::span<const plan::Change> changes,
                                   std::vector<Operation> plan::Change::* which, Wanted wanted) {
  std::vector<const Operation*> out;
  for (const auto& change : changes) {
    for (const auto& operation : change.*which) {
      if (wanted(operation)) {
        out.push_back(&operation);
      }
    }
  }
  return out;
}

std::vector<const Operation*> pick(std::span<const plan::Change> changes,
                                   std::vector<Operation> plan::Change::* which, Request request) {
  return pick(changes, which, [&](const auto& one) { return one.request == request; });
}

/// The streams among them that source another.
std::vector<std::string> fed(std::span<const Operation* const> operations) {
  std::vector<std::string> out;
  for (const auto* operation : operations) {
    if (operation->config.contains("sources")) {
      out.push_back(operation->stream);
    }
  }
  return out;
}

}  // namespace

Status raise(bus::Connection& mesh, std::span<const plan::Change> changes, Steps& steps,
             std::uint64_t& writes) {
  using plan::Change;
  Applier applier(mesh, steps, writes);
  const auto streams =
      pick(changes, &Change::operations, [](const auto& one) { return one.consumer.empty(); });
  MESH_CHECK(applier.streams(streams));
  MESH_CHECK(wait_for_sources(mesh, fed(streams), steps));
  for (const auto* operation : pick(changes, &Change::operations, Request::DeleteConsumer)) {
    MESH_CHECK(applier.remove(*operation));
  }
  MESH_CHECK(applier.consumers(pick(changes, &Change::operations, Request::CreateConsumer),
                               bus::Raise::Create));
  return applier.consumers(pick(changes, &Change::operations, Request::UpdateConsumer),
                           bus::Raise::Update);
}

Status clean_up(bus::Connection& mesh, std::span<const plan::Change> changes, Steps& steps,
                std::uint64_t& writes) {
  Applier applier(mesh, steps, writes);
  for (const auto request : {Request::DeleteConsumer, Request::DeleteStream}) {
    for (const auto* operation : pick(changes, &plan::Change::cleanup, request)) {
      MESH_CHECK(applier.remove(*operation));
    }
  }
  return {};
}

}  // namespace mesh::controller
