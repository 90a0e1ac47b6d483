#pragma once

#include <span>
#include <string>

#include "cli/verbs.h"

namespace mesh::cli {

/// What `mesh help` prints: every verb with its summary.
[[nodiscard]] std::string overview(std::span<const Verb> verbs);

/// What `mesh VERB --help` prints: usage, arguments, options, an example.
[[nodiscard]] std::string verb_help(const VerbSpec& verb);

/// The verb of that name, or nullptr.
[[nodiscard]] const Verb* find_verb(std::span<const Verb> verbs, std::string_view name);

/// What `--help` says of a verb that comes with a later version, or nothing where `name` is none.
[[nodiscard]] std::optional<std::string> later_help(std::string_view name);

/// The answer to a verb that comes with a later version, or nothing where `name` is none.
[[nodiscard]] std::optional<Error> later_verb(std::string_view name);

}  // namespace mesh::cli
