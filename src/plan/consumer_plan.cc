#include "plan/consumer_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/text.h"
#include "model/subjects.h"
#include "plan/config_diff.h"

namespace mesh::plan {

using broker::WantedConsumer;
using nlohmann::json;

namespace {

std::string full_name(const std::string& stream, const std::string& name) {
  return stream + "." + name;
}

/// Node and module of a consumer on EVENTS. Names hold no `_`, so there is one way to part them.
std::pair<std::string, std::string> instance_of(const std::string& consumer) {
  const auto at = consumer.find('_');
  return at == std::string::npos ? std::pair{consumer, std::string()}
                                 : std::pair{consumer.substr(0, at), consumer.substr(at + 1)};
}

/// What nats-server refuses to change of a consumer (measured on 2.10 and 2.15, error 10012).
bool is_fixed(const std::string& field, const json& asked, const json& observed) {
  if (field == "deliver_subject") {
    return asked.value(field, "").empty() != observed.value(field, "").empty();
  }
  return field == "ack_policy" || field == "replay_policy" || field == "max_waiting" ||
         field == "flow_control" || field == "idle_heartbeat" || field == "mem_storage";
}

void start_at(json& config, std::uint64_t sequence) {
  config["deliver_policy"] = "by_start_sequence";
  config["opt_start_seq"] = sequence;
}

void keep_start(json& config, const json& before) {
  for (const auto* field : {"deliver_policy", "opt_start_seq", "opt_start_time"}) {
    config.erase(field);
    if (before.contains(field)) {
      config[field] = before[field];
    }
  }
}

void start_from(json& config, const model::From& from, const Hints& hints) {
  switch (from.kind) {
    case model::From::Kind::New:
      config["deliver_policy"] = "new";
      return;
    case model::From::Kind::All:
      config["deliver_policy"] = "all";
      return;
    case model::From::Kind::Age: {
      const auto then = hints.now - std::chrono::duration_cast<std::chrono::seconds>(from.age);
      config["deliver_policy"] = "by_start_time";
      config["opt_start_time"] = fmt::format(
          "{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(then)));
      return;
    }
  }
}

Change change(Action action, const std::string& stream, const std::string& name, Because because) {
  Change out;
  out.action = action;
  out.kind = Kind::Consumer;
  out.name = full_name(stream, name);
  out.because = std::move(because);
  return out;
}

Operation create(const WantedConsumer& wanted, json config) {
  return {Request::CreateConsumer, wanted.stream, wanted.name, std::move(config)};
}

Operation remove(const ObservedConsumer& consumer) {
  return {Request::DeleteConsumer, consumer.stream, consumer.name, {}};
}

/// True where the plan decides the start; seats and nodes have it in their configuration.
bool has_position(const WantedConsumer& wanted) {
  return !wanted.module.empty() && !wanted.config.contains("deliver_policy");
}

/// The work of one call of `consumer_plan`.
class Planner {
 public:
  Planner(const broker::Wanted& wanted, const Observed& observed, const StreamPlan& streams,
          const Hints& hints)
      : wanted_(wanted), observed_(observed), streams_(streams), hints_(hints) {}

  ConsumerPlan run() {
    sort_out();
    for (auto& [module, missing] : missing_) {
      std::sort(missing.begin(), missing.end(),
                [](const auto* a, const auto* b) { return a->name < b->name; });
      pair_moves(module, missing);
    }
    for (const auto& consumer : wanted_.consumers) {
      raise(consumer);
    }
    for (const auto* consumer : obsolete_) {
      if (!moved_away_.contains(consumer)) {
        plan_.remove.push_back(removed(*consumer));
      }
    }
    return std::move(plan_);
  }

 private:
  /// What is missing of each module, what of ours is not wanted, and how far each module is.
  void sort_out() {
    std::set<std::string> names;
    for (const auto& consumer : wanted_.consumers) {
      names.insert(full_name(consumer.stream, consumer.name));
      if (has_position(consumer) && !exists(consumer)) {
        missing_[consumer.module].push_back(&consumer);
      }
    }
    for (const auto& consumer : observed_.consumers) {
      if (mesh_id_of(consumer.config) != hints_.mesh_id ||
          streams_.fresh.contains(consumer.stream)) {
        continue;
      }
      const auto module =
          consumer.stream == model::kEvents ? instance_of(consumer.name).second : std::string();
      if (!names.contains(full_name(consumer.stream, consumer.name))) {
        obsolete_.push_back(&consumer);
        obsolete_of_[module].push_back(&consumer);
      }
      if (!module.empty()) {
        consumers_of_[module].push_back(&consumer);
      }
    }
  }

  [[nodiscard]] const ObservedConsumer* exists(const WantedConsumer& wanted) const {
    return streams_.fresh.contains(wanted.stream) ? nullptr
                                                  : observed_.consumer(wanted.stream, wanted.name);
  }

  /// The n-th instance that came takes over from the n-th that went.
  void pair_moves(const std::string& module, const std::vector<const WantedConsumer*>& missing) {
    const auto gone = obsolete_of_.find(module);
    if (gone == obsolete_of_.end()) {
      return;
    }
    for (std::size_t i = 0; i < std::min(missing.size(), gone->second.size()); ++i) {
      if (!hints_.floors.contains(full_name(missing[i]->stream, missing[i]->name))) {
        moves_[missing[i]] = gone->second[i];
        moved_away_.insert(gone->second[i]);
      }
    }
  }

  void raise(const WantedConsumer& wanted) {
    if (const auto* before = exists(wanted)) {
      change_existing(wanted, *before);
    } else if (const auto move = moves_.find(&wanted); move != moves_.end()) {
      plan_.raise.push_back(moved(wanted, *move->second));
    } else {
      plan_.raise.push_back(created(wanted));
    }
  }

  void change_existing(const WantedConsumer& wanted, const ObservedConsumer& before) {
    const auto fields = consumer_differences(wanted.config, before.config);
    std::vector<std::string> fixed;
    std::copy_if(fields.begin(), fields.end(), std::back_inserter(fixed),
                 [&](const auto& field) { return is_fixed(field, wanted.config, before.config); });
    if (!fixed.empty()) {
      plan_.raise.push_back(replaced(wanted, before, fixed));
    } else if (!fields.empty()) {
      plan_.raise.push_back(updated(wanted, before, fields));
    }
  }

  [[nodiscard]] Change created(const WantedConsumer& wanted) const {
    auto out = change(Action::Create, wanted.stream, wanted.name, wanted.because);
    auto config = wanted.config;
    if (has_position(wanted)) {
      start(config, wanted, out);
    }
    out.operations.push_back(create(wanted, std::move(config)));
    return out;
  }

  void start(json& config, const WantedConsumer& wanted, Change& out) const {
    const auto kept = hints_.floors.find(full_name(wanted.stream, wanted.name));
    if (kept != hints_.floors.end()) {
      start_at(config, kept->second + 1);
    } else if (streams_.fresh.contains(wanted.stream)) {
      config["deliver_policy"] = "all";  // nothing is in it but what comes during this push
    } else if (const auto* least = least_of(wanted.module)) {
      start_at(config, least->ack_floor.stream + 1);
      out.redelivered = redelivered_after(*least);
    } else {
      start_from(config, wanted.from, hints_);
    }
  }

  [[nodiscard]] const ObservedConsumer* least_of(const std::string& module) const {
    const auto all = consumers_of_.find(module);
    if (all == consumers_of_.end()) {
      return nullptr;
    }
    return *std::min_element(all->second.begin(), all->second.end(), [](auto* a, auto* b) {
      return a->ack_floor.stream < b->ack_floor.stream;
    });
  }

  [[nodiscard]] static Change moved(const WantedConsumer& wanted, const ObservedConsumer& before) {
    auto out = change(Action::Move, wanted.stream, wanted.name, wanted.because);
    out.because.text += fmt::format(" (moved from {} to {})", instance_of(before.name).first,
                                    instance_of(wanted.name).first);
    out.redelivered = redelivered_after(before);
    out.skipped = 0;
    auto config = wanted.config;
    start_at(config, before.ack_floor.stream + 1);
    out.operations.push_back(create(wanted, std::move(config)));
    out.cleanup.push_back(remove(before));
    return out;
  }

  [[nodiscard]] static Change replaced(const WantedConsumer& wanted, const ObservedConsumer& before,
                                       const std::vector<std::string>& fixed) {
    auto out =
        change(Action::Replace, wanted.stream, wanted.name, changes_fields(wanted.because, fixed));
    out.redelivered = redelivered_after(before);
    out.skipped = 0;
    if (before.waiting + before.unacknowledged > 0) {
      out.needs_yes = fmt::format(
          "the server cannot change {} of a consumer: it is made again, with {} "
          "waiting and {} unacknowledged",
          join(fixed, ", "), before.waiting, before.unacknowledged);
    }
    auto config = wanted.config;
    if (has_position(wanted)) {
      start_at(config, before.ack_floor.stream + 1);
    }
    out.operations.push_back(remove(before));
    out.operations.push_back(create(wanted, std::move(config)));
    return out;
  }

  [[nodiscard]] Change updated(const WantedConsumer& wanted, const ObservedConsumer& before,
                               const std::vector<std::string>& fields) const {
    auto out =
        change(Action::Update, wanted.stream, wanted.name, changes_fields(wanted.because, fields));
    out.redelivered = 0;
    out.skipped = 0;
    for (const auto& filter : added_filters(wanted, before)) {
      const auto count = hints_.matching.find({wanted.stream, filter, before.delivered.stream});
      *out.skipped += count != hints_.matching.end() ? count->second : 0;
    }
    auto config = wanted.config;
    keep_start(config, before.config);
    out.operations.push_back(
        {Request::UpdateConsumer, wanted.stream, wanted.name, std::move(config)});
    return out;
  }

  /// True where another consumer of the module was made to start no later than this one's floor:
  /// what is left of a move that was cut off before its end.
  [[nodiscard]] bool is_taken_over(const ObservedConsumer& consumer) const {
    if (consumer.stream != model::kEvents) {
      return false;
    }
    const auto all = consumers_of_.find(instance_of(consumer.name).second);
    return all != consumers_of_.end() &&
           std::any_of(all->second.begin(), all->second.end(), [&](const auto* other) {
             return other != &consumer && other->config.contains("opt_start_seq") &&
                    other->config["opt_start_seq"] <= consumer.ack_floor.stream + 1;
           });
  }

  [[nodiscard]] Change removed(const ObservedConsumer& consumer) const {
    auto out = change(Action::Delete, consumer.stream, consumer.name,
                      {"nothing declared needs it any more", {}});
    const bool taken_over = is_taken_over(consumer);
    const auto lost = consumer.waiting + consumer.unacknowledged;
    out.skipped = taken_over ? 0 : lost;
    if (lost > 0 && !taken_over && consumer.stream != model::kNodes) {
      out.needs_yes = fmt::format("{} that it was to deliver", messages_text(lost));
    }
    out.cleanup.push_back(remove(consumer));
    return out;
  }

  const broker::Wanted& wanted_;
  const Observed& observed_;
  const StreamPlan& streams_;
  const Hints& hints_;
  std::map<std::string, std::vector<const WantedConsumer*>> missing_;
  std::map<std::string, std::vector<const ObservedConsumer*>> obsolete_of_;
  std::map<std::string, std::vector<const ObservedConsumer*>> consumers_of_;
  std::vector<const ObservedConsumer*> obsolete_;
  std::map<const WantedConsumer*, const ObservedConsumer*> moves_;
  std::set<const ObservedConsumer*> moved_away_;
  ConsumerPlan plan_;
};

}  // namespace

std::vector<std::string> added_filters(const WantedConsumer& wanted,
                                       const ObservedConsumer& before) {
  const auto asked = filters_of(wanted.config);
  const auto had = filters_of(before.config);
  std::vector<std::string> added;
  std::set_difference(asked.begin(), asked.end(), had.begin(), had.end(),
                      std::back_inserter(added));
  return had.empty() ? std::vector<std::string>() : added;  // no filter is all subjects
}

ConsumerPlan consumer_plan(const broker::Wanted& wanted, const Observed& observed,
                           const StreamPlan& streams, const Hints& hints) {
  return Planner(wanted, observed, streams, hints).run();
}

}  // namespace mesh::plan
