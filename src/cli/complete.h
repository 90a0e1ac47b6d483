#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/context.h"
#include "cli/verbs.h"

namespace mesh::cli {

/// What may stand for the last of `words` (those behind `mesh`), sorted: verbs, options, fixed
/// choices, and the names of principals, instances and modules where declarations are found and
/// hold. Nothing where the shell should offer files.
[[nodiscard]] std::vector<std::string> candidates(Context& context, std::span<const Verb> verbs,
                                                  std::span<const std::string> words);

/// The script that makes `shell` ask `mesh __complete`; empty for a shell that is not known.
[[nodiscard]] std::string completion_script(std::string_view shell);

}  // namespace mesh::cli
