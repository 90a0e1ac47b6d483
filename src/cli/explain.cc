#include <fmt/format.h>

#include "broker/questions.h"
#include "cli/declarations.h"
#include "cli/explain_module.h"
#include "cli/reasons.h"
#include "cli/verbs.h"

namespace mesh::cli {

namespace {

Result<Outcome> explain_principal(Context& context, const std::string& name,
                                  broker::Direction direction, const std::string& subject) {
  MESH_CHECK(check_subject(subject));
  MESH_TRY(const auto declared, declarations(context));
  MESH_TRY(const auto explained,
           broker::explain(broker::principals(declared.mesh()), name, direction, subject));
  const auto* const answer = broker::verdict_name(explained.verdict);
  const bool yes = explained.verdict == broker::Verdict::Yes;
  Outcome outcome;
  outcome.exit = yes ? exit_code::kDone : exit_code::kFailed;
  outcome.text = fmt::format("{}\n{}", answer, reasons_text(explained.because));
  outcome.document = Json{{"answer", answer}, {"because", reasons_json(explained.because)}};
  return outcome;
}

Result<Outcome> run_explain(Context& context, const Arguments& arguments) {
  const auto what = arguments.positional("PRINCIPAL").value_or("");
  const auto how = arguments.positional("HOW");
  const auto subject = arguments.positional("SUBJECT");
  if (!how) {
    return explain_module(context, what);
  }
  if (!subject) {
    return fail(Code::Usage, "SUBJECT is missing: what it may publish or hear",
                "see `mesh explain --help`");
  }
  return explain_principal(context, what, direction_of(*how), *subject);
}

}  // namespace

Verb explain_verb() {
  using Count = PositionalSpec::Count;
  return {{.name = "explain",
           .summary = "why a principal may or may not; why a module is not as declared",
           .example = "mesh explain two.audit hear mesh.mod.shop.event.order.placed\n"
                      "mesh explain shop",
           .positionals =
               {{"PRINCIPAL", "a principal, as two.shop; or a module, as shop", Count::One, {}},
                {"HOW", "publish or hear", Count::Optional, {"publish", "hear"}},
                {"SUBJECT", "the subject in question", Count::Optional, {}}},
           .options = {}},
          run_explain};
}

}  // namespace mesh::cli
