#include <fmt/format.h>

#include "broker/questions.h"
#include "cli/declarations.h"
#include "cli/reasons.h"
#include "cli/verbs.h"

namespace mesh::cli {

namespace {

Result<Outcome> run_who(Context& context, const Arguments& arguments) {
  const auto subject = arguments.positional("SUBJECT").value_or("");
  MESH_CHECK(check_subject(subject));
  MESH_TRY(const auto declared, declarations(context));
  const auto direction = direction_of(arguments.positional("HOW").value_or(""));
  MESH_TRY(const auto found, broker::who(broker::principals(declared.mesh()), direction, subject));
  Outcome outcome;
  outcome.document = Json{{"subject", subject}, {"principals", Json::array()}};
  for (const auto& able : found) {
    outcome.document["principals"].push_back(
        {{"name", able.name}, {"because", reasons_json(able.because)}});
    outcome.text += able.name + "\n" + reasons_text(able.because);
  }
  return outcome;
}

}  // namespace

Verb who_verb() {
  using Count = PositionalSpec::Count;
  return {
      {.name = "who",
       .summary = "every principal that can publish or hear a subject, and why",
       .example = "mesh who hear mesh.mod.shop.event.order.placed\n"
                  "mesh who publish 'mesh.node.*.declare'",
       .positionals = {{"HOW", "publish or hear", Count::One, {"publish", "hear"}},
                       {"SUBJECT", "a subject; `*` and `>` ask for many at once", Count::One, {}}},
       .options = {}},
      run_who};
}

}  // namespace mesh::cli
