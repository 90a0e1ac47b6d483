#include "model/read_module_toml.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "model/env.h"
#include "model/paths.h"
#include "model/units.h"
#include "model/unknown_key.h"

namespace mesh::model {

namespace {

using namespace std::chrono_literals;

constexpr Milliseconds kToolTimeout = 30s;

Result<From> parse_from(std::string_view text) {
  if (text == "new") {
    return From{};
  }
  if (text == "all") {
    return From{From::Kind::All, {}};
  }
  const auto age = parse_duration(text);
  if (!age) {
    return fail(Code::InvalidArgument,
                fmt::format("\"{}\" is not where a consumer can start", printable(text)),
                "\"new\", \"all\" or an age, such as \"2h\"");
  }
  return From{From::Kind::Age, *age};
}

using Seen = std::set<EventRef>;

void add_consume(const Table& top, Located<std::string> text, From from, Seen& seen,
                 ModuleFile& out) {
  auto event = top.accept("bad-event", text.place, EventRef::parse(text.value));
  if (!event) {
    return;
  }
  if (!seen.insert(*event).second) {
    top.report().error(text.place, "listed-twice",
                       fmt::format("consumes lists \"{}\" twice", text.value));
    return;
  }
  out.consumes.push_back({std::move(*event), from, std::move(text.place)});
}

void read_consumes(const Table& top, ModuleFile& out) {
  const auto value = top.find("consumes");
  const auto items = value ? value->items() : std::vector<Value>{};
  if (!items) {
    top.wrong_type("consumes", *value);
    return;
  }
  Seen seen;
  for (const auto& item : *items) {
    if (item.is_table()) {
      const Table table(item, kConsume);
      From from;
      table.read("from", "bad-from", parse_from, from);
      if (auto event = table.text("event")) {
        add_consume(top, std::move(*event), from, seen, out);
      }
    } else if (const auto* text = usable_text(item)) {
      add_consume(top, {*text, item.place()}, {}, seen, out);
    } else if (item.text() == nullptr) {
      top.wrong_type("consumes", item);
    }
  }
}

Result<std::string> parse_subject(std::string_view text) {
  const auto bad = [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == '*' || c == '>' || c == 0x7F;
  };
  const auto tokens = split(text, '.');
  const bool empty = std::ranges::any_of(tokens, [](auto token) { return token.empty(); });
  const bool taken = text.starts_with('$') || text.starts_with('_') || tokens.front() == "mesh";
  if (empty || taken || std::ranges::any_of(text, bad)) {
    return fail(Code::InvalidArgument,
                fmt::format("\"{}\" cannot be an event's own name for clients", printable(text)),
                "tokens joined by ., without spaces, * and >, and not below mesh, $ or _");
  }
  return std::string(text);
}

/// The hint for `order.placed = "x"`, which TOML takes for a table in a table.
void refuse_unquoted(const Entry& entry, Report& report) {
  std::string name(entry.key);
  auto inner = entry.value.entries();
  while (inner.size() == 1) {
    name += fmt::format(".{}", inner.front().key);
    inner = inner.front().value.entries();
  }
  report.error(entry.place, "unquoted-name",
               fmt::format("\"{}\" in subjects must be text in quotes", printable(entry.key)),
               fmt::format("an event's name with dots needs quotes: \"{}\"", printable(name)));
}

void read_subject(const Table& top, const Entry& entry, ModuleFile& out) {
  auto event = top.accept("bad-event", entry.place, EventName::parse(entry.key));
  const auto* text = usable_text(entry.value);
  if (text == nullptr) {
    if (entry.value.is_table()) {
      refuse_unquoted(entry, top.report());
    } else if (entry.value.text() == nullptr) {
      top.wrong_type("subjects", entry.value);
    }
    return;
  }
  auto subject = top.accept("bad-subject", entry.value.place(), parse_subject(*text));
  if (event && subject) {
    out.subjects.emplace(std::move(*event), Located{std::move(*subject), entry.place});
  }
}

void read_subjects(const Table& top, ModuleFile& out) {
  const auto value = top.find("subjects");
  for (const auto& entry : top.entries("subjects")) {
    if (!value->is_block() || entry.value.text() != nullptr || !report_slid_key(entry, kTool)) {
      read_subject(top, entry, out);
    }
  }
}

Tool read_tool(const Table& table, ToolName name, Place place) {
  Tool tool{std::move(name)};
  tool.timeout = kToolTimeout;
  tool.place = std::move(place);
  table.read("description", tool.description);
  table.read("input", "bad-path", parse_inner_path, tool.input);
  table.read("timeout", "bad-duration", parse_time, tool.timeout);
  return tool;
}

void read_tools(const Table& top, std::vector<Tool>& out) {
  for (const auto& entry : top.entries("tools")) {
    const auto name = top.accept("bad-name", entry.place, ToolName::parse(entry.key));
    auto tool = read_tool(Table(entry.value, kTool, entry.key), name.value_or(stand_in<ToolName>()),
                          entry.place);
    if (name) {
      out.push_back(std::move(tool));
    }
  }
}

}  // namespace

ModuleFile read_module_toml(const Value& root) {
  const Table top(root, kModuleTop);
  ModuleFile out;
  out.place = Place{root.source().file, 1, 1};
  top.read("description", out.description);
  top.read_list("emits", "bad-event", EventName::parse, out.emits);
  read_subjects(top, out);
  read_consumes(top, out);
  top.read_list("holds", "bad-name", SeatName::parse, out.holds);
  top.read_list("uses", "bad-verb", VerbRef::parse, out.uses);
  top.read_list("calls", "bad-tool", ToolRef::parse, out.calls);
  read_tools(top, out.tools);
  out.components = read_components(top);
  return out;
}

}  // namespace mesh::model
