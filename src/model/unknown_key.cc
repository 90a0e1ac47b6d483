#include "model/unknown_key.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "model/report.h"

namespace mesh::model {

namespace {

bool of_module_file(const Kind& kind) {
  return &kind == &kModuleTop || &kind == &kTool || &kind == &kComponent || &kind == &kBuild ||
         &kind == &kHealth;
}

const Kind& top_of(const Kind& kind) {
  return of_module_file(kind) ? kModuleTop : kMeshTop;
}

/// `order.placed` where `[events.order.placed]` made one table in another.
std::string dotted_name(const Entry& entry) {
  std::string name(entry.key);
  auto inner = entry.value.entries();
  while (inner.size() == 1 && inner.front().value.is_table()) {
    name += fmt::format(".{}", inner.front().key);
    inner = inner.front().value.entries();
  }
  // The last part opened a table, or is a key with a value.
  if (inner.size() == 1 && name.find('.') == std::string::npos) {
    name += fmt::format(".{}", inner.front().key);
  }
  return name;
}

std::string nearest_key(const Entry& entry, const Kind& kind) {
  if (!entry.value.source().report.wants_hints()) {
    return {};
  }
  // `[modle.shop]` is nearer to one module than to [modules].
  std::vector<std::string> names;
  std::vector<std::string> singular;
  for (const auto& key : kind.keys) {
    names.emplace_back(key.name);
    singular.emplace_back(key.name.substr(0, key.name.size() - (key.name.ends_with('s') ? 1 : 0)));
  }
  if (auto near = nearest(entry.key, names); !near.empty()) {
    return near;
  }
  const auto near = nearest(entry.key, singular);
  const auto at = std::ranges::find(singular, near) - singular.begin();
  return near.empty() ? near : names[static_cast<std::size_t>(at)];
}

/// What `[events…]` was meant to be. Empty where it was not that.
std::string events_hint(const Entry& entry, const Kind& kind) {
  const bool events = &kind == &kEventsTable;
  const auto is_event = [&] { return entry.value.is_table() && (events || entry.key == "events"); };
  if (!is_event() || (!events && &kind != &kModuleTop)) {
    return {};
  }
  auto name = dotted_name(entry);
  if (!events) {
    name = name.size() > entry.key.size() ? name.substr(entry.key.size() + 1) : "order.placed";
  }
  return fmt::format(
      "an event's name needs quotes, \"{0}\", and stands in a module's list, emits = "
      "[\"{0}\"]",
      printable(name));
}

/// The hint for a table inside a named table: `[upstreams.docker.io]`, `[nodes.one.two]`.
std::string dots_hint(const Entry& entry, const Kind& kind, const std::string& shown) {
  const bool named = kind.shown.find("NAME") != std::string_view::npos;
  if (!named || !entry.value.is_block()) {
    return {};
  }
  if (&kind == &kUpstream) {
    const auto host = shown.substr(0, shown.size() - 2) + "." + std::string(entry.key);
    return fmt::format("a name with dots needs quotes, {}\"]", host);
  }
  return "names have no dots";
}

std::string hint_for(const Entry& entry, const Kind& kind, const std::string& shown) {
  if (auto hint = events_hint(entry, kind); !hint.empty()) {
    return hint;
  }
  if (const auto near = nearest_key(entry, kind); !near.empty()) {
    return fmt::format("did you mean \"{}\"?", near);
  }
  const auto& other = &kind == &kModuleTop ? kMeshTop : kModuleTop;
  if ((&kind == &kModuleTop || &kind == &kMeshTop) && other.find(entry.key) != nullptr) {
    return fmt::format("it belongs in {}", other.shown);
  }
  return dots_hint(entry, kind, shown);
}

}  // namespace

bool report_slid_key(const Entry& entry, const Kind& kind) {
  const auto& top = top_of(kind);
  const auto* known = top.find(entry.key);
  if (known == nullptr || &kind == &top || entry.value.is_table()) {
    return false;
  }
  entry.value.source().report.error(
      entry.place, "slid-into-table",
      fmt::format("\"{}\" belongs above the first [table]", entry.key),
      "what follows a [table] belongs to that table, up to the next one");
  return true;
}

bool slid_away(std::string_view key, const Kind& kind, const Value& top) {
  if (&kind != &top_of(kind)) {
    return false;
  }
  const auto holds = [&](const Value& table) {
    const auto value = table.is_block() ? table.find(key) : std::nullopt;
    return value && !value->is_table();
  };
  for (const auto& outer : top.entries()) {
    const auto inner = outer.value.entries();
    if (holds(outer.value) ||
        std::ranges::any_of(inner, [&](const Entry& entry) { return holds(entry.value); })) {
      return true;
    }
  }
  return false;
}

void report_unknown_key(const Entry& entry, const Kind& kind, const std::string& shown,
                        bool block) {
  if (block && report_slid_key(entry, kind)) {
    return;
  }
  auto& report = entry.value.source().report;
  const auto key = printable(entry.key);
  if (const auto absent = not_in_this_version(entry.key); !absent.empty()) {
    report.error(entry.place, "not-in-this-version",
                 fmt::format("\"{}\": {} not in this version of mesh", key, absent));
    return;
  }
  report.error(entry.place, "unknown-key", fmt::format("unknown key \"{}\" in {}", key, shown),
               hint_for(entry, kind, shown));
}

}  // namespace mesh::model
