#include "plan/stream_plan.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "base/text.h"
#include "plan/config_diff.h"

namespace mesh::plan {

using nlohmann::json;

namespace {

/// What nats-server refuses to change (measured on 2.10 and 2.15, error 10052).
bool is_fixed(const std::string& field, const json& asked, const json& observed,
              const Hints& hints) {
  if (field == "storage" || field == "retention" || field == "mirror") {
    return true;
  }
  if (field == "max_consumers") {
    return hints.max_consumers_fixed;
  }
  // These can be switched on, never off; a message TTL likewise.
  if (field == "deny_delete" || field == "deny_purge" || field == "sealed" ||
      field == "allow_msg_ttl") {
    return observed.value(field, false) && !asked.value(field, false);
  }
  return field == "allow_msg_counter";
}

/// The nanosecond after `time` (RFC 3339 in UTC); within a second's last nanosecond `time` itself.
std::string just_after(const std::string& time) {
  const auto dot = time.find('.');
  std::string digits = dot == std::string::npos ? "" : time.substr(dot + 1, time.size() - dot - 2);
  digits.resize(9, '0');
  auto digit = digits.find_last_not_of('9');
  if (digit == std::string::npos) {
    return time;
  }
  ++digits[digit];
  std::fill(digits.begin() + static_cast<std::ptrdiff_t>(digit) + 1, digits.end(), '0');
  return time.substr(0, std::min(dot, time.size() - 1)) + "." + digits + "Z";
}

/// Where a source starts: where the same source of the observed stream started, otherwise behind
/// what its origin holds now. Always a time, never a sequence: a server that starts again with an
/// empty work queue goes on at the later of this time and the queue's last message, but at a
/// sequence it begins anew, and all work is done once more (measured on 2.10 and 2.15).
void start_sources(json& config, const ObservedStream* before, const Observed& observed) {
  const auto sources = config.find("sources");
  if (sources == config.end()) {
    return;
  }
  for (auto& source : *sources) {
    if (source.contains("opt_start_seq") || source.contains("opt_start_time")) {
      continue;
    }
    const auto known = before != nullptr ? before->config.value("sources", json::array()) : json();
    const auto same = std::find_if(known.begin(), known.end(), [&](const json& other) {
      auto bare = other;
      bare.erase("opt_start_seq");
      bare.erase("opt_start_time");
      return bare == source;
    });
    if (same != known.end()) {
      source = *same;
      continue;
    }
    const auto* origin = observed.stream(source.value("name", ""));
    const bool empty = origin == nullptr || origin->last == 0 || origin->last_time.empty();
    source["opt_start_time"] = empty ? "1970-01-01T00:00:00Z" : just_after(origin->last_time);
  }
}

Operation operation(Request request, const std::string& stream, json config = {}) {
  return {request, stream, {}, std::move(config)};
}

Change stream_change(Action action, const std::string& name, Because because) {
  Change out;
  out.action = action;
  out.kind = Kind::Stream;
  out.name = name;
  out.because = std::move(because);
  return out;
}

Change created(const broker::WantedStream& wanted, const Observed& observed) {
  auto out = stream_change(Action::Create, wanted.name, wanted.because);
  auto config = wanted.config;
  start_sources(config, nullptr, observed);
  out.operations.push_back(operation(Request::CreateStream, wanted.name, std::move(config)));
  return out;
}

/// Consumers of the stream that Mesh did not make, and that would go with it.
std::ptrdiff_t foreign_consumers(const Observed& observed, const std::string& stream) {
  return std::count_if(observed.consumers.begin(), observed.consumers.end(),
                       [&](const auto& consumer) {
                         return consumer.stream == stream && mesh_id_of(consumer.config).empty();
                       });
}

Change replaced(const broker::WantedStream& wanted, const ObservedStream& before,
                const Observed& observed, const std::vector<std::string>& fixed) {
  auto out = stream_change(Action::Replace, wanted.name, changes_fields(wanted.because, fixed));
  out.skipped = before.messages;
  const auto foreign = foreign_consumers(observed, wanted.name);
  if (before.messages > 0 || foreign > 0) {
    out.needs_yes = fmt::format(
        "the server cannot change {} of a stream: its {} go, and {} consumers that mesh did not "
        "make",
        join(fixed, ", "), messages_text(before.messages), foreign);
  }
  auto config = wanted.config;
  start_sources(config, nullptr, observed);
  out.operations.push_back(operation(Request::DeleteStream, wanted.name));
  out.operations.push_back(operation(Request::CreateStream, wanted.name, std::move(config)));
  return out;
}

Change updated(const broker::WantedStream& wanted, const ObservedStream& before,
               const Observed& observed, const std::vector<std::string>& fields) {
  auto out = stream_change(Action::Update, wanted.name, changes_fields(wanted.because, fields));
  auto config = wanted.config;
  start_sources(config, &before, observed);
  out.operations.push_back(operation(Request::UpdateStream, wanted.name, std::move(config)));
  return out;
}

Change removed(const ObservedStream& before, const Observed& observed) {
  auto out = stream_change(Action::Delete, before.name, {"nothing declared needs it any more", {}});
  out.skipped = before.messages;
  const auto foreign = foreign_consumers(observed, before.name);
  if (before.messages > 0) {
    out.needs_yes = fmt::format("it holds {}", messages_text(before.messages));
  } else if (foreign > 0) {
    out.needs_yes = fmt::format("it has {} consumers that mesh did not make", foreign);
  }
  out.cleanup.push_back(operation(Request::DeleteStream, before.name));
  return out;
}

}  // namespace

Because changes_fields(Because because, const std::vector<std::string>& fields) {
  because.text += fmt::format(" (changes {})", join(fields, ", "));
  return because;
}

std::string messages_text(std::uint64_t count) {
  return fmt::format("{} {}", count, count == 1 ? "message" : "messages");
}

StreamPlan stream_plan(const broker::Wanted& wanted, const Observed& observed, const Hints& hints) {
  StreamPlan plan;
  std::set<std::string> names;
  for (const auto& stream : wanted.streams) {
    names.insert(stream.name);
    const auto* before = observed.stream(stream.name);
    if (before == nullptr) {
      plan.raise.push_back(created(stream, observed));
      plan.fresh.insert(stream.name);
      continue;
    }
    const auto fields = stream_differences(stream.config, before->config);
    std::vector<std::string> fixed;
    std::copy_if(fields.begin(), fields.end(), std::back_inserter(fixed), [&](const auto& field) {
      return is_fixed(field, stream.config, before->config, hints);
    });
    if (!fixed.empty()) {
      plan.raise.push_back(replaced(stream, *before, observed, fixed));
      plan.fresh.insert(stream.name);
    } else if (!fields.empty()) {
      plan.raise.push_back(updated(stream, *before, observed, fields));
    }
  }
  for (const auto& stream : observed.streams) {
    if (!names.contains(stream.name) && mesh_id_of(stream.config) == hints.mesh_id) {
      plan.remove.push_back(removed(stream, observed));
    }
  }
  return plan;
}

}  // namespace mesh::plan
