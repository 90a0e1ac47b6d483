#include "cli/reasons.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "broker/subject_algebra.h"

namespace mesh::cli {

std::string reason_text(const Because& because) {
  if (because.place.file_name().empty()) {
    return because.text;
  }
  return fmt::format("{} ({}:{})", because.text, because.place.file_name(), because.place.line);
}

std::string reasons_text(std::span<const Because> because) {
  std::string text;
  for (const auto& reason : because) {
    text += fmt::format("  {}\n", reason_text(reason));
  }
  return text;
}

Json reasons_json(std::span<const Because> because) {
  auto list = Json::array();
  for (const auto& reason : because) {
    list.push_back(because_json(reason));
  }
  return list;
}

Result<broker::Principal> find_principal(std::span<const broker::Principal> principals,
                                         std::string_view name) {
  std::vector<std::string> names;
  for (const auto& principal : principals) {
    if (principal.name == name) {
      return principal;
    }
    names.push_back(principal.name);
  }
  const auto meant = nearest(name, names);
  return fail(Code::NotFound, fmt::format("there is no principal '{}'", printable(name)),
              meant.empty() ? "`mesh grants` lists them" : fmt::format("did you mean {}?", meant));
}

broker::Direction direction_of(std::string_view word) {
  return word == "publish" ? broker::Direction::Publish : broker::Direction::Hear;
}

Status check_subject(std::string_view subject) {
  if (broker::is_subject(subject)) {
    return {};
  }
  return fail(
      Code::Usage, fmt::format("'{}' is no subject", printable(subject)),
      "tokens joined by dots, as mesh.mod.shop.event.order.placed; `*` stands for one token, "
      "a last `>` for one or more");
}

}  // namespace mesh::cli
