#include <fmt/format.h>

#include "base/text.h"
#include "cli/help.h"
#include "cli/verbs.h"

namespace mesh::cli {

namespace {

Outcome list_of_verbs(const std::vector<Verb>& verbs) {
  Outcome outcome;
  outcome.text = overview(verbs);
  outcome.document = Json{{"verbs", Json::array()}};
  for (const auto& verb : verbs) {
    if (!verb.spec.hidden) {
      outcome.document["verbs"].push_back({{"name", verb.spec.name},
                                           {"summary", verb.spec.summary},
                                           {"example", verb.spec.example}});
    }
  }
  return outcome;
}

Result<Outcome> run_help(Context& /*context*/, const Arguments& arguments) {
  const auto verbs = all_verbs();
  const auto name = arguments.positional("VERB");
  if (!name) {
    return list_of_verbs(verbs);
  }
  const auto* verb = find_verb(verbs, *name);
  if (verb != nullptr) {
    Outcome outcome;
    outcome.text = verb_help(verb->spec);
    outcome.document = Json{{"help", outcome.text}};
    return outcome;
  }
  if (const auto later = later_help(*name)) {
    Outcome outcome;
    outcome.text = *later;
    outcome.document = Json{{"help", outcome.text}};
    return outcome;
  }
  std::vector<std::string> names;
  names.reserve(verbs.size());
  for (const auto& each : verbs) {
    names.push_back(each.spec.name);
  }
  const auto meant = nearest(*name, names);
  return fail(
      Code::Usage, fmt::format("there is no verb '{}'", printable(*name)),
      meant.empty() ? "`mesh help` lists the verbs" : fmt::format("did you mean {}?", meant));
}

}  // namespace

Verb help_verb() {
  return {{.name = "help",
           .summary = "lists the verbs, or says how one is used",
           .example = "mesh help push",
           .positionals = {{"VERB", "the verb to explain", PositionalSpec::Count::Optional, {}}},
           .options = {}},
          run_help};
}

}  // namespace mesh::cli
