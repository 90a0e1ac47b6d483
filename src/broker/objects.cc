#include "broker/objects.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "model/subjects.h"

namespace mesh::broker {

namespace {

using nlohmann::json;
using std::chrono::milliseconds;

// 2.15 refuses consumer 1,001 of a stream that does not say; the number can never be changed
// on 2.10.
constexpr int kMostConsumers = 100'000;
constexpr std::int64_t kSeatBytes = std::int64_t{1} << 30;
constexpr std::int64_t kParkedBytes = std::int64_t{1} << 30;
constexpr std::int64_t kAdvisoryBytes = std::int64_t{1} << 30;
constexpr int kAdvisoriesOfEach = 10'000;  // consumers: no consumer pushes out another's
constexpr int kDeclarationsOfEach = 4;     // nodes
constexpr milliseconds kUsualDuplicates{120'000};
constexpr milliseconds kLeastDuplicates{100};  // the server's own bound
constexpr milliseconds kDeclareWithin{30'000};
constexpr int kDeclareInFlight = 1000;

std::int64_t nanoseconds(milliseconds time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

/// A duplicate window may not be longer than what is kept.
milliseconds duplicates(const model::EventsSettings& events) {
  const auto window = std::max(events.duplicates, kLeastDuplicates);
  return events.keep.count() > 0 ? std::min(window, events.keep) : window;
}

class Streams {
 public:
  Streams(const model::Mesh& mesh, const std::string& mesh_id) : mesh_(mesh), id_(mesh_id) {}

  [[nodiscard]] std::vector<WantedStream> all() const {
    std::vector<WantedStream> out = {events(), nodes(), reports(), advisories(), parked()};
    for (const auto& seat : mesh_.seats) {
      out.push_back(of_seat(seat));
    }
    return out;
  }

 private:
  /// What all have in common, each field spelled out, so that nothing is left to a version's taste.
  [[nodiscard]] WantedStream stream(std::string name, json subjects, std::string text,
                                    const Place& place) const {
    json config = {{"name", name},
                   {"subjects", std::move(subjects)},
                   {"retention", "limits"},
                   {"storage", "file"},
                   {"discard", "old"},
                   {"num_replicas", mesh_.bus.replicas},
                   {"max_consumers", kMostConsumers},
                   {"max_msgs", -1},
                   {"max_bytes", -1},
                   {"max_age", 0},
                   {"max_msgs_per_subject", -1},
                   {"max_msg_size", -1},
                   {"duplicate_window", nanoseconds(kUsualDuplicates)},
                   {"compression", "none"},
                   {"allow_direct", false},
                   {"mirror_direct", false},
                   {"sealed", false},
                   {"deny_delete", false},
                   {"deny_purge", false},
                   {"allow_rollup_hdrs", false},
                   {"metadata", {{kMeshIdKey, id_}}}};
    return {std::move(name), std::move(config), {std::move(text), place}};
  }

  [[nodiscard]] WantedStream events() const {
    const auto& settings = mesh_.events;
    auto out = stream(model::kEvents,
                      {model::kEveryModuleEvent, model::kEverySeatEvent, model::kEveryRetry},
                      "keeps what is emitted", mesh_.place);
    out.config["max_age"] = nanoseconds(settings.keep);
    out.config["max_msgs_per_subject"] = settings.per_event;
    out.config["max_msg_size"] = settings.largest;
    out.config["max_bytes"] = settings.disk;
    out.config["discard"] = "new";  // an event drops its own oldest; a full disk refuses
    out.config["duplicate_window"] = nanoseconds(duplicates(settings));
    deny(out.config);
    return out;
  }

  /// A denial can never be taken back, so only where nothing is ever deleted.
  static void deny(json& config) {
    config["deny_delete"] = true;
    config["deny_purge"] = true;
  }

  [[nodiscard]] WantedStream nodes() const {
    auto out = stream(model::kNodes, {model::kEveryDeclare}, "keeps each machine's declaration",
                      mesh_.place);
    out.config["max_msgs_per_subject"] = kDeclarationsOfEach;
    return out;
  }

  [[nodiscard]] WantedStream reports() const {
    auto out =
        stream(model::kReports, {model::kEveryReport}, "keeps each machine's report", mesh_.place);
    out.config["max_msgs_per_subject"] = 1;
    out.config["storage"] = "memory";
    return out;
  }

  [[nodiscard]] WantedStream advisories() const {
    const std::string advisory = "$JS.EVENT.ADVISORY.CONSUMER.";
    auto out =
        stream(model::kAdvisories, {advisory + "MAX_DELIVERIES.>", advisory + "MSG_TERMINATED.>"},
               "keeps what failed for good until it is parked", mesh_.place);
    out.config["max_msgs_per_subject"] = kAdvisoriesOfEach;
    out.config["max_bytes"] = kAdvisoryBytes;
    deny(out.config);
    return out;
  }

  [[nodiscard]] WantedStream parked() const {
    auto out =
        stream(model::kParked, {model::kEveryParked}, "keeps what failed for good", mesh_.place);
    out.config["max_bytes"] = kParkedBytes;
    out.config["discard"] = "new";
    return out;
  }

  [[nodiscard]] WantedStream of_seat(const model::Seat& seat) const {
    auto out = stream(model::seat_stream(seat.name), {model::accepts_subject(seat.name)},
                      fmt::format("[seats.{}] is declared", seat.name.text()), seat.place);
    out.config["retention"] = "workqueue";
    out.config["max_bytes"] = kSeatBytes;
    out.config["discard"] = "new";
    out.config["duplicate_window"] =
        nanoseconds(std::max(mesh_.events.duplicates, kLeastDuplicates));
    if (auto sources = fed(seat); !sources.empty()) {
      out.config["sources"] = std::move(sources);
    }
    return out;
  }

  /// One source for all events: the server takes its place up again, after a restart, from any
  /// message of it that is still in the queue (docs/decisions/0005).
  [[nodiscard]] static json fed(const model::Seat& seat) {
    std::set<std::pair<std::string, std::string>> pairs;
    for (const auto& [verb, events] : seat.from) {
      for (const auto& event : events) {
        pairs.emplace(model::event_subject(event.value), model::accept_subject(seat.name, verb));
      }
    }
    json transforms = json::array();
    for (const auto& [event, work] : pairs) {
      transforms.push_back({{"src", event}, {"dest", work}});
    }
    return transforms.empty() ? json::array()
                              : json::array({{{"name", model::kEvents},
                                              {"subject_transforms", std::move(transforms)}}});
  }

  const model::Mesh& mesh_;
  const std::string& id_;
};

class Consumers {
 public:
  Consumers(const model::Mesh& mesh, const std::string& mesh_id) : mesh_(mesh), id_(mesh_id) {}

  [[nodiscard]] std::vector<WantedConsumer> all() const {
    std::vector<WantedConsumer> out;
    std::set<model::SeatName> held;
    for (const auto& module : mesh_.modules) {
      for (const auto& seat : module.file->holds) {
        held.insert(seat.value);
      }
      if (!module.file->consumes.empty()) {
        for (const auto& node : module.on) {
          out.push_back(of_instance(module, {node, module.name}));
        }
      }
    }
    for (const auto& seat : mesh_.seats) {
      if (held.contains(seat.name)) {
        out.push_back(of_seat(seat));
      }
    }
    for (const auto& node : mesh_.nodes) {
      out.push_back(of_node(node));
    }
    return out;
  }

 private:
  [[nodiscard]] WantedConsumer consumer(std::string stream, std::string name) const {
    json config = {{"name", name},
                   {"durable_name", name},
                   {"ack_policy", "explicit"},
                   {"replay_policy", "instant"},
                   {"num_replicas", 0},  // as many as its stream
                   {"metadata", {{kMeshIdKey, id_}}}};
    return {std::move(stream), std::move(name), std::move(config), {}, {}, {}};
  }

  static void deliver(json& config, const model::Delivery& delivery) {
    config["ack_wait"] = nanoseconds(delivery.within);
    config["max_deliver"] = delivery.attempts;
    config["max_ack_pending"] = delivery.in_flight;
    if (!delivery.backoff.empty()) {
      config["metadata"][kBackoffKey] = backoff(delivery);
    }
  }

  static std::string backoff(const model::Delivery& delivery) {
    std::string out;
    for (const auto& delay : delivery.backoff) {
      const auto ms = delay.count();
      out += out.empty() ? "" : ",";
      out += ms % 1000 == 0 ? fmt::format("{}s", ms / 1000) : fmt::format("{}ms", ms);
    }
    return out;
  }

  [[nodiscard]] WantedConsumer of_instance(const model::Module& module,
                                           const model::InstanceName& instance) const {
    auto out = consumer(model::kEvents, model::instance_consumer(instance));
    std::set<std::string> filters = {model::retries_subject(instance)};
    out.from = module.file->consumes.front().from;
    for (const auto& consume : module.file->consumes) {
      filters.insert(model::event_subject(consume.event));
      out.from = earliest(out.from, consume.from);
    }
    out.config["filter_subjects"] = filters;
    deliver(out.config, mesh_.delivery);
    out.module = module.name.text();
    out.because = {fmt::format("consumes {}, and [modules.{}] is on node {}",
                               module.file->consumes.front().event.text(), module.name.text(),
                               instance.node.text()),
                   module.file->consumes.front().place};
    return out;
  }

  [[nodiscard]] WantedConsumer of_seat(const model::Seat& seat) const {
    auto out = consumer(model::seat_stream(seat.name), model::seat_consumer(seat.name));
    out.config["deliver_policy"] = "all";  // the only one that a work queue has
    out.config["deliver_subject"] = model::deliver_subject(out.name);
    out.config["deliver_group"] = out.name;
    deliver(out.config, seat.delivery);
    out.because = {fmt::format("[seats.{}] is held", seat.name.text()), seat.place};
    return out;
  }

  [[nodiscard]] WantedConsumer of_node(const model::Node& node) const {
    auto out = consumer(model::kNodes, node.name.text());
    out.config["deliver_policy"] = "last_per_subject";
    out.config["filter_subject"] = model::declare_subject(node.name);
    out.config["deliver_subject"] = model::deliver_subject(out.name);
    out.config["ack_wait"] = nanoseconds(kDeclareWithin);
    out.config["max_deliver"] = -1;
    out.config["max_ack_pending"] = kDeclareInFlight;
    out.because = {fmt::format("[nodes.{}] is declared", node.name.text()), node.place};
    return out;
  }

  const model::Mesh& mesh_;
  const std::string& id_;
};

}  // namespace

model::From earliest(model::From a, model::From b) {
  using FromKind = model::From::Kind;
  const auto rank = [](const model::From& from) {
    return std::tuple(from.kind == FromKind::All   ? 0
                      : from.kind == FromKind::Age ? 1
                                                   : 2,
                      from.kind == FromKind::Age ? -from.age : milliseconds{});
  };
  return rank(b) < rank(a) ? b : a;
}

Wanted wanted(const model::Mesh& mesh, const std::string& mesh_id) {
  Wanted out{Streams(mesh, mesh_id).all(), Consumers(mesh, mesh_id).all()};
  std::sort(out.streams.begin(), out.streams.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  std::sort(out.consumers.begin(), out.consumers.end(), [](const auto& a, const auto& b) {
    return std::tie(a.stream, a.name) < std::tie(b.stream, b.name);
  });
  return out;
}

}  // namespace mesh::broker
