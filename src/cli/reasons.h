#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/place.h"
#include "base/result.h"
#include "broker/principals.h"
#include "broker/questions.h"
#include "cli/outcome.h"

namespace mesh::cli {

/// A reason for people: its sentence, and `(file:line)` where known.
[[nodiscard]] std::string reason_text(const Because& because);

/// Each reason on a line of its own, indented.
[[nodiscard]] std::string reasons_text(std::span<const Because> because);

[[nodiscard]] Json reasons_json(std::span<const Because> because);

/// The principal of that name. Errors: NotFound, with the nearest name as the hint.
[[nodiscard]] Result<broker::Principal> find_principal(
    std::span<const broker::Principal> principals, std::string_view name);

/// `publish` or `hear`, as it stands on the command line.
[[nodiscard]] broker::Direction direction_of(std::string_view word);

/// Checks a subject of the command line; wildcards are welcome. Errors: Usage.
[[nodiscard]] Status check_subject(std::string_view subject);

}  // namespace mesh::cli
