#include "plan/change.h"

#include <fmt/format.h>

#include "base/text.h"

namespace mesh::plan {

const char* action_name(Action action) {
  switch (action) {
    case Action::Create:
      return "create";
    case Action::Update:
      return "update";
    case Action::Move:
      return "move";
    case Action::Replace:
      return "replace";
    case Action::Delete:
      return "delete";
  }
  return "";
}

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::Account:
      return "account";
    case Kind::User:
      return "user";
    case Kind::Grant:
      return "grant";
    case Kind::Credential:
      return "credential";
    case Kind::Stream:
      return "stream";
    case Kind::Consumer:
      return "consumer";
    case Kind::Image:
      return "image";
    case Kind::Declaration:
      return "declaration";
  }
  return "";
}

namespace {

nlohmann::json or_null(const std::optional<std::uint64_t>& count) {
  return count ? nlohmann::json(*count) : nlohmann::json();
}

std::string consequence(const std::optional<std::uint64_t>& count, const char* what) {
  return count && *count > 0
             ? fmt::format("{} {} {}", *count, *count == 1 ? "message" : "messages", what)
             : std::string();
}

}  // namespace

nlohmann::json to_json(const Because& because) {
  const auto& place = because.place;
  return {{"text", because.text},
          {"file", place.file ? nlohmann::json(*place.file) : nlohmann::json()},
          {"line", place.line > 0 ? nlohmann::json(place.line) : nlohmann::json()}};
}

nlohmann::json to_json(const Change& change) {
  return {{"action", action_name(change.action)},
          {"kind", kind_name(change.kind)},
          {"name", change.name},
          {"because", to_json(change.because)},
          {"redelivered", or_null(change.redelivered)},
          {"skipped", or_null(change.skipped)},
          {"disconnected", change.disconnected},
          {"restarted", change.restarted}};
}

std::string to_text(const Change& change) {
  std::vector<std::string> notes;
  for (auto note :
       {consequence(change.redelivered, "redelivered"), consequence(change.skipped, "skipped"),
        change.disconnected.empty() ? std::string()
                                    : "disconnects " + join(change.disconnected, ", "),
        change.restarted.empty() ? std::string() : "restarts " + join(change.restarted, ", "),
        change.needs_yes.empty() ? std::string() : "needs --yes: " + change.needs_yes}) {
    if (!note.empty()) {
      notes.push_back(std::move(note));
    }
  }
  auto line =
      fmt::format("{} {} {}", action_name(change.action), kind_name(change.kind), change.name);
  if (!change.because.text.empty()) {
    line += ": " + change.because.text;
  }
  return notes.empty() ? line : line + " (" + join(notes, "; ") + ")";
}

}  // namespace mesh::plan
