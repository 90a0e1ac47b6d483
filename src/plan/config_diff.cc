#include "plan/config_diff.h"

#include <algorithm>
#include <set>

namespace mesh::plan {

using nlohmann::json;

namespace {

/// What a field is where it was not asked. Several: the server chooses among them.
const json& stream_defaults() {
  static const json kTable = {
      {"description", {""}},
      {"subjects", {json::array()}},
      {"retention", {"limits"}},
      {"max_consumers", {-1, 0}},
      {"max_msgs", {-1, 0}},
      {"max_bytes", {-1, 0}},
      {"max_age", {0}},
      {"max_msgs_per_subject", {-1, 0}},
      {"max_msg_size", {-1, 0}},
      {"discard", {"old"}},
      {"discard_new_per_subject", {false}},
      {"storage", {"file"}},
      {"num_replicas", {1, 0}},
      {"no_ack", {false}},
      {"mirror", {nullptr}},
      {"sources", {json::array()}},
      {"sealed", {false}},
      {"deny_delete", {false}},
      {"deny_purge", {false}},
      {"allow_rollup_hdrs", {false}},
      {"allow_direct", {false}},
      {"mirror_direct", {false}},
      {"allow_msg_ttl", {false}},
      {"allow_msg_schedules", {false}},
      {"allow_msg_counter", {false}},
      {"allow_atomic", {false}},
      {"compression", {"none"}},
      {"republish", {nullptr}},
      {"subject_transform", {nullptr}},
      {"metadata", {json::object()}},
      {"placement", {nullptr}},
  };
  return kTable;
}

const json& consumer_defaults() {
  static const json kTable = {
      {"description", {""}},
      {"ack_policy", {"none"}},
      {"ack_wait", {30'000'000'000}},
      {"max_deliver", {-1, 0}},
      {"filter_subjects", {json::array()}},
      {"replay_policy", {"instant"}},
      {"sample_freq", {""}},
      {"rate_limit_bps", {0}},
      {"max_ack_pending", {1000, 20000, 0, -1}},
      {"max_waiting", {512, 0}},
      {"idle_heartbeat", {0}},
      {"flow_control", {false}},
      {"headers_only", {false}},
      {"max_batch", {0}},
      {"max_expires", {0}},
      {"max_bytes", {0}},
      {"inactive_threshold", {0}},
      {"num_replicas", {0}},
      {"mem_storage", {false}},
      {"backoff", {json::array()}},
      {"deliver_subject", {""}},
      {"deliver_group", {""}},
      {"metadata", {json::object()}},
      {"priority_groups", {json::array()}},
      {"priority_policy", {"none", ""}},
      {"pause_until", {nullptr}},
  };
  return kTable;
}

json without_server_metadata(json metadata) {
  for (auto entry = metadata.begin(); metadata.is_object() && entry != metadata.end();) {
    entry = entry.key().starts_with("_nats.") ? metadata.erase(entry) : std::next(entry);
  }
  return metadata;
}

json sorted(json list) {
  std::sort(list.begin(), list.end());
  return list;
}

json without_starts(json sources) {
  for (auto& source : sources) {
    source.erase("opt_start_seq");
    source.erase("opt_start_time");
    source.erase("external");
  }
  return sorted(std::move(sources));
}

/// The configuration in one shape: lists in order, one name for each thing.
json normal(json config) {
  if (config.contains("metadata")) {
    config["metadata"] = without_server_metadata(std::move(config["metadata"]));
  }
  for (const auto* list : {"subjects", "filter_subjects"}) {
    if (config.contains(list) && config[list].is_array()) {
      config[list] = sorted(std::move(config[list]));
    }
  }
  if (config.contains("filter_subject")) {
    if (!config.contains("filter_subjects") && config["filter_subject"] != "") {
      config["filter_subjects"] = json::array({config["filter_subject"]});
    }
    config.erase("filter_subject");
  }
  if (config.contains("sources") && config["sources"].is_array()) {
    config["sources"] = without_starts(std::move(config["sources"]));
  }
  return config;
}

bool is_default(const json& defaults, const std::string& field, const json& value) {
  const auto known = defaults.find(field);
  if (known == defaults.end() || value.is_null()) {
    return true;
  }
  return std::find(known->begin(), known->end(), value) != known->end();
}

std::vector<std::string> differences(const json& asked_config, const json& observed_config,
                                     const json& defaults, const std::set<std::string>& left_out) {
  const auto asked = normal(asked_config);
  const auto observed = normal(observed_config);
  std::set<std::string> fields;
  for (const auto& [field, value] : asked.items()) {
    const auto found = observed.find(field);
    const bool same = found != observed.end()
                          ? *found == value
                          : defaults.contains(field) && is_default(defaults, field, value);
    if (!same) {
      fields.insert(field);
    }
  }
  for (const auto& [field, value] : observed.items()) {
    if (!asked.contains(field) && !is_default(defaults, field, value)) {
      fields.insert(field);
    }
  }
  for (const auto& field : left_out) {
    fields.erase(field);
  }
  return {fields.begin(), fields.end()};
}

std::set<std::string> starts() {
  return {"deliver_policy", "opt_start_seq", "opt_start_time"};
}

}  // namespace

std::vector<std::string> stream_differences(const json& asked, const json& observed) {
  return differences(asked, observed, stream_defaults(), {"name", "first_seq"});
}

std::vector<std::string> consumer_differences(const json& asked, const json& observed) {
  auto left_out = starts();
  left_out.insert({"name", "durable_name"});
  return differences(asked, observed, consumer_defaults(), left_out);
}

std::vector<std::string> echo_differences(const json& asked, const json& answered) {
  const bool consumer = asked.contains("durable_name");
  auto fields =
      consumer ? consumer_differences(asked, answered) : stream_differences(asked, answered);
  for (const auto& start : starts()) {
    const auto found = answered.find(start);
    if (asked.contains(start) && (found == answered.end() || *found != asked[start])) {
      fields.push_back(start);
    }
  }
  std::sort(fields.begin(), fields.end());
  return fields;
}

std::vector<std::string> filters_of(const json& consumer_config) {
  const auto config = normal(consumer_config);
  const auto found = config.find("filter_subjects");
  return found == config.end() ? std::vector<std::string>()
                               : found->get<std::vector<std::string>>();
}

}  // namespace mesh::plan
