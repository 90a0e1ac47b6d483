#include "cli/declarations.h"
#include "cli/verbs.h"

namespace mesh::cli {

namespace {

Result<Outcome> run_check(Context& context, const Arguments& /*arguments*/) {
  MESH_TRY(const auto location, locate(context));
  const auto reading = controller::read_declarations(location);
  return problems_outcome(reading.problems, context.colour_out());
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
