#include "base/text.h"
#include "cli/complete.h"
#include "cli/verbs.h"

namespace mesh::cli {

namespace {

Result<Outcome> run_completion(Context& /*context*/, const Arguments& arguments) {
  Outcome outcome;
  outcome.text = completion_script(arguments.positional("SHELL").value_or(""));
  outcome.document = Json{{"script", outcome.text}};
  return outcome;
}

Result<Outcome> run_complete(Context& context, const Arguments& arguments) {
  const auto verbs = all_verbs();
  const auto found = candidates(context, verbs, arguments.command());
  context.invalid.reset();
  Outcome outcome;
  outcome.document = Json{{"candidates", found}};
  for (const auto& word : found) {
    outcome.text += word + "\n";
  }
  return outcome;
}

}  // namespace

Verb completion_verb() {
  return {
      {.name = "completion",
       .summary = "prints the script that completes mesh's words in a shell",
       .example = "source <(mesh completion bash)",
       .positionals =
           {{"SHELL", "bash, zsh or fish", PositionalSpec::Count::One, {"bash", "zsh", "fish"}}},
       .options = {}},
      run_completion};
}

Verb complete_verb() {
  return {{.name = "__complete",
           .summary = "what may stand for the last word; asked by the shells' completions",
           .example = "mesh __complete -- gr",
           .positionals = {},
           .options = {},
           .takes_command = true,
           .hidden = true},
          run_complete};
}

}  // namespace mesh::cli
