#pragma once

#include <string>

#include "cli/context.h"
#include "cli/outcome.h"

namespace mesh::cli {

/// `mesh explain MODULE`: one sentence, and exit code 1 where the module is not as declared.
[[nodiscard]] Result<Outcome> explain_module(Context& context, const std::string& module);

}  // namespace mesh::cli
