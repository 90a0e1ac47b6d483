#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/place.h"
#include "base/result.h"
#include "broker/principals.h"

namespace mesh::cli {

/// A reason for people: its sentence, and `(file:line)` where known.
[[nodiscard]] std::string reason_text(const Because& because);

/// The principal of that name. Errors: NotFound, with the nearest name as the hint.
[[nodiscard]] Result<broker::Principal> find_principal(
    std::span<const broker::Principal> principals, std::string_view name);

/// Checks a subject of the command line; wildcards are welcome. Errors: Usage.
[[nodiscard]] Status check_subject(std::string_view subject);

}  // namespace mesh::cli
