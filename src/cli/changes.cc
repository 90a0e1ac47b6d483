#include "cli/changes.h"

#include <map>

#include <fmt/format.h>

#include "base/text.h"

namespace mesh::cli {

namespace {

/// The user of a grant's change, `USER publish SUBJECT`.
std::string user_of(const plan::Change& grant) {
  return grant.name.substr(0, grant.name.find(' '));
}

Json count_json(const std::optional<std::uint64_t>& count) {
  return count ? Json(*count) : Json(nullptr);
}

}  // namespace

Json changes_json(std::span<const plan::Change> changes) {
  auto list = Json::array();
  for (const auto& change : changes) {
    list.push_back({{"action", plan::action_name(change.action)},
                    {"kind", plan::kind_name(change.kind)},
                    {"name", change.name},
                    {"because", because_json(change.because)},
                    {"redelivered", count_json(change.redelivered)},
                    {"skipped", count_json(change.skipped)},
                    {"disconnected", change.disconnected},
                    {"restarted", change.restarted}});
  }
  return list;
}

std::string changes_text(std::span<const plan::Change> changes) {
  std::map<std::string, std::uint64_t> grants_of_new;
  for (const auto& change : changes) {
    if (change.kind == plan::Kind::User && change.action == plan::Action::Create) {
      grants_of_new[change.name] = 0;
    }
  }
  for (const auto& change : changes) {
    const auto user = change.kind == plan::Kind::Grant ? grants_of_new.find(user_of(change))
                                                       : grants_of_new.end();
    if (user != grants_of_new.end()) {
      ++user->second;
    }
  }
  std::string text;
  for (const auto& change : changes) {
    if (change.kind == plan::Kind::Grant && grants_of_new.contains(user_of(change))) {
      continue;
    }
    text += plan::to_text(change);
    const auto user = grants_of_new.find(change.name);
    if (change.kind == plan::Kind::User && user != grants_of_new.end() && user->second > 0) {
      text += fmt::format(" (with {})", counted(user->second, "grant"));
    }
    text += "\n";
  }
  return text.empty() ? "nothing would change\n" : text;
}

Json after_restart_json(std::span<const controller::AfterRestart> settings) {
  auto list = Json::array();
  for (const auto& setting : settings) {
    list.push_back({{"name", setting.name}, {"now", setting.now}, {"then", setting.then}});
  }
  return list;
}

std::string after_restart_text(std::span<const controller::AfterRestart> settings) {
  std::string text;
  for (const auto& setting : settings) {
    text += "note: " + setting.text() + "\n";
  }
  return text;
}

}  // namespace mesh::cli
