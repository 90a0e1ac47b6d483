#include <fmt/format.h>

#include "cli/declarations.h"
#include "cli/verbs.h"
#include "inventory/inventory.h"

namespace mesh::cli {

namespace {

constexpr std::size_t kMost = 100'000;

Result<Outcome> run_history(Context& context, const Arguments& /*arguments*/) {
  MESH_TRY(const auto declared, declarations(context));
  MESH_TRY(auto state, open_state(context, declared));
  MESH_TRY(const auto pushes, state.inventory.history(kMost));
  Outcome outcome;
  outcome.document = Json{{"pushes", Json::array()}};
  for (const auto& push : pushes) {
    outcome.document["pushes"].push_back(
        {{"number", push.number}, {"time", push.time}, {"by", push.by}, {"digest", push.digest}});
    outcome.text +=
        fmt::format("{:>6}  {}  {:<24} {}\n", push.number, push.time, push.by, push.digest);
  }
  if (pushes.empty()) {
    outcome.diagnostics = "nothing was pushed yet\n";
  }
  return outcome;
}

}  // namespace

Verb history_verb() {
  return {{.name = "history",
           .summary = "the pushes and who made them, the newest first",
           .example = "mesh history",
           .positionals = {},
           .options = {}},
          run_history};
}

}  // namespace mesh::cli
