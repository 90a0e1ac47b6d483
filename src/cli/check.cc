#include <memory>
#include <string>
#include <utility>

#include "cli/declarations.h"
#include "cli/verbs.h"
#include "controller/lock_file.h"

namespace mesh::cli {

namespace {

Result<Outcome> run_check(Context& context, const Arguments& /*arguments*/) {
  MESH_TRY(const auto location, locate(context));
  const auto reading = controller::read_declarations(location);
  auto problems = reading.problems;
  if (auto lock = controller::read_lock(location); !lock) {
    auto error = std::move(lock).error();
    if (error.place.file_name().empty()) {
      error.place.file = std::make_shared<const std::string>(location.shown_prefix + "mesh.lock");
    }
    problems.push_back({model::Severity::Error, "bad-lock", std::move(error.message),
                        std::move(error.hint), std::move(error.place)});
  }
  return problems_outcome(problems, context.colour_out());
}

}  // namespace

Verb check_verb() {
  return {{.name = "check",
           .summary = "validates the declarations and shows every problem at once",
           .example = "mesh check\nmesh check --json | jq '.problems[].message'",
           .positionals = {},
           .options = {}},
          run_check};
}

}  // namespace mesh::cli
