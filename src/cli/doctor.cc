#include <algorithm>

#include <fmt/format.h>

#include "cli/declarations.h"
#include "cli/verbs.h"
#include "controller/checkup.h"

namespace mesh::cli {

namespace {

using controller::Finding;
using controller::Health;

constexpr std::chrono::milliseconds kDoctorTimeout{30'000};

const char* health_name(Health health) {
  switch (health) {
    case Health::Ok:
      return "ok";
    case Health::Warning:
      return "warning";
    case Health::Error:
      return "error";
  }
  return "error";
}

std::string text_of(const Finding& finding) {
  auto line =
      fmt::format("{:<8} {}: {}\n", health_name(finding.health), finding.name, finding.message);
  return finding.hint.empty() ? line : line + fmt::format("         {}\n", finding.hint);
}

Result<Outcome> run_doctor(Context& context, const Arguments& /*arguments*/) {
  MESH_TRY(const auto declared, declarations(context));
  const auto findings =
      controller::check_up(declared.location, declared.mesh(), {context.clock, context.random},
                           context.within(kDoctorTimeout));
  Outcome outcome;
  outcome.document = Json{{"checks", Json::array()}};
  for (const auto& finding : findings) {
    outcome.document["checks"].push_back(
        {{"name", finding.name},
         {"state", health_name(finding.health)},
         {"message", finding.message},
         {"hint", finding.hint.empty() ? Json(nullptr) : Json(finding.hint)}});
    outcome.text += text_of(finding);
  }
  const bool ill =
      std::ranges::any_of(findings, [](const auto& one) { return one.health == Health::Error; });
  outcome.exit = ill ? exit_code::kFailed : exit_code::kDone;
  return outcome;
}

}  // namespace

Verb doctor_verb() {
  return {{.name = "doctor",
           .summary = "checks versions, clock, disk, ports, bus and registry, and says what to do",
           .example = "mesh doctor",
           .positionals = {},
           .options = {}},
          run_doctor};
}

}  // namespace mesh::cli
