#include "cli/manual.h"

#include <fmt/format.h>

#include "cli/help.h"

namespace mesh::cli {

namespace {

constexpr std::string_view kHead = R"(# The command line

<!-- Written by the test Manual.IsWhatHelpSays; run cli_test with MESH_ACCEPT=1 to renew it. -->

`mesh` looks for `mesh.toml` in the working directory and above it, as git does for its own. What it
keeps (the inventory, the keys, the composed configuration) is in `.mesh/` beside that file, closed
to everyone else. A verb that needs this state and finds none makes it first, and shows the recovery
key on stderr: once, and never again.

Results are on stdout; progress, remarks and errors on stderr. With `--json` a verb prints one
document on stdout. Where it came to no answer that is
`{"error":{"code","message","file","line","column","hint"}}`, with `null` for what is not known; and
where the declarations are invalid, every verb prints what `mesh check` would. A verb that goes on
(`tap`, `status --watch`) prints a document a line. `tap`'s are
`{"time","subject","reply","headers","data","data_base64"}`: a payload is in `data` where it is
UTF-8 text, otherwise in `data_base64`, and the other one is `null`. `plan` and `push` have
`after_restart`, `[{"name","now","then"}]`: settings that the running server cannot change, with
what it runs with and what is declared; they are in force once `mesh up` or `mesh controller` is
started again. `plan`, `push` and `build` have `notes`, sentences about what could not be looked at
or done: the registry or an upstream that was away.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | it failed; the answer is no; a deadline passed; somebody else holds the lock |
| 2 | `plan --detailed-exitcode` alone: there are changes |
| 64 | the command line is wrong |
| 65 | declarations or files are invalid |
| 69 | the bus or a node could not be reached |
| 130 | interrupted |

`mesh env INSTANCE -- COMMAND` ends with the command's own code.
)";

/// A verb's help without the options that all have.
std::string own_help(const VerbSpec& verb) {
  auto text = verb_help(verb);
  const auto from = text.find("\noptions of every verb:");
  const auto to = text.find("\nexample:", from);
  return from == std::string::npos || to == std::string::npos ? text : text.erase(from, to - from);
}

}  // namespace

std::string manual(std::span<const Verb> verbs) {
  std::string text(kHead);
  text += fmt::format("\n```\n{}```\n", overview(verbs));
  for (const auto& verb : verbs) {
    if (!verb.spec.hidden) {
      text += fmt::format("\n## {}\n\n```\n{}```\n", verb.spec.name, own_help(verb.spec));
    }
  }
  return text;
}

}  // namespace mesh::cli
