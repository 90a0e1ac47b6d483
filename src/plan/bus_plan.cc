#include "plan/bus_plan.h"

#include <iterator>
#include <set>

#include <fmt/format.h>

#include "broker/subject_algebra.h"
#include "plan/consumer_plan.h"
#include "plan/stream_plan.h"

namespace mesh::plan {

namespace {

/// Whether an object with this configuration may be ours. `used` says whether we want its name.
Status check_owner(const std::string& what, const nlohmann::json& config, bool used,
                   const Hints& hints) {
  const auto id = mesh_id_of(config);
  if (id == hints.mesh_id || (id.empty() && (!used || hints.adopt))) {
    return {};
  }
  if (id.empty()) {
    return fail(Code::Conflict,
                fmt::format("{} is on the bus already, and mesh did not make it", what),
                "`mesh push --adopt` takes it over; otherwise remove it or use another bus");
  }
  return fail(
      Code::Conflict,
      fmt::format("{} belongs to another mesh ({}), this one is {}", what, id, hints.mesh_id),
      "use that mesh's state (`mesh restore`, `--state DIR`), or another bus");
}

Status check_owners(const broker::Wanted& wanted, const Observed& observed, const Hints& hints) {
  std::set<std::string> streams;
  std::set<std::pair<std::string, std::string>> consumers;
  for (const auto& stream : wanted.streams) {
    streams.insert(stream.name);
  }
  for (const auto& consumer : wanted.consumers) {
    consumers.insert({consumer.stream, consumer.name});
  }
  for (const auto& stream : observed.streams) {
    MESH_CHECK(
        check_owner("stream " + stream.name, stream.config, streams.contains(stream.name), hints));
  }
  for (const auto& consumer : observed.consumers) {
    MESH_CHECK(check_owner(fmt::format("consumer {}.{}", consumer.stream, consumer.name),
                           consumer.config, consumers.contains({consumer.stream, consumer.name}),
                           hints));
  }
  return {};
}

/// A stream that is not ours and stores what ours is to store: the server would refuse ours without
/// saying which stands in the way.
Status check_overlaps(const broker::Wanted& wanted, const Observed& observed) {
  for (const auto& stream : wanted.streams) {
    for (const auto& other : observed.streams) {
      if (other.name == stream.name || !mesh_id_of(other.config).empty()) {
        continue;
      }
      for (const auto& ours : stream.config.value("subjects", std::vector<std::string>())) {
        for (const auto& theirs : other.config.value("subjects", std::vector<std::string>())) {
          if (broker::overlaps(ours, theirs)) {
            return fail(Code::Conflict,
                        fmt::format("stream {} on the bus, which mesh did not make, stores {}, and "
                                    "so must {} ({})",
                                    other.name, theirs, stream.name, ours),
                        "change the subjects of that stream, or use another bus");
          }
        }
      }
    }
  }
  return {};
}

void append(std::vector<Change>& all, std::vector<Change> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

std::vector<Matching> questions(const broker::Wanted& wanted, const Observed& observed) {
  std::set<Matching> asked;
  for (const auto& consumer : wanted.consumers) {
    if (const auto* before = observed.consumer(consumer.stream, consumer.name)) {
      for (const auto& filter : added_filters(consumer, *before)) {
        asked.insert({consumer.stream, filter, before->delivered.stream});
      }
    }
  }
  return {asked.begin(), asked.end()};
}

Result<std::vector<Change>> bus_plan(const broker::Wanted& wanted, const Observed& observed,
                                     const Hints& hints) {
  MESH_CHECK(check_owners(wanted, observed, hints));
  MESH_CHECK(check_overlaps(wanted, observed));
  auto streams = stream_plan(wanted, observed, hints);
  auto consumers = consumer_plan(wanted, observed, streams, hints);
  std::vector<Change> changes;
  append(changes, std::move(streams.raise));
  append(changes, std::move(consumers.raise));
  append(changes, std::move(consumers.remove));
  append(changes, std::move(streams.remove));
  return changes;
}

std::map<std::string, std::uint64_t> floors_at_risk(const std::vector<Change>& changes,
                                                    const Observed& observed) {
  std::map<std::string, std::uint64_t> floors;
  for (const auto& change : changes) {
    for (const auto& operation : change.operations) {
      if (operation.request != Request::DeleteConsumer) {
        continue;
      }
      if (const auto* before = observed.consumer(operation.stream, operation.consumer)) {
        floors[change.name] = before->ack_floor.stream;
      }
    }
  }
  return floors;
}

}  // namespace mesh::plan
