#pragma once

#include <span>
#include <string>

#include "cli/verbs.h"

namespace mesh::cli {

/// docs/command-line.md: every verb as `--help` shows it, the exit codes, and what is printed
/// where.
[[nodiscard]] std::string manual(std::span<const Verb> verbs);

}  // namespace mesh::cli
