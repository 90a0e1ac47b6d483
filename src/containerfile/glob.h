#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace mesh::containerfile {

/// `value` without what `pattern` matches at its start (`${x#…}`), the longest match where
/// `longest`.
/// `*` and `?` are wild, `\` makes the next one plain. Errors: InvalidArgument (a bad escape).
[[nodiscard]] Result<std::string> without_prefix(std::string_view value, std::string_view pattern,
                                                 bool longest);

/// The same at the end (`${x%…}`).
[[nodiscard]] Result<std::string> without_suffix(std::string_view value, std::string_view pattern,
                                                 bool longest);

/// `value` with the first match of `pattern` (or `every` one) replaced (`${x/…/…}`). Matches are
/// the leftmost and longest.
[[nodiscard]] Result<std::string> replaced(std::string_view value, std::string_view pattern,
                                           std::string_view replacement, bool every);

}  // namespace mesh::containerfile
