#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace mesh::model {

/// A path relative to the file that names it, tidied: no `.` parts, no doubled or last `/`; `..` is
/// kept, since a symbolic link may stand before it. An empty result is the directory itself.
/// Errors: InvalidArgument (empty, absolute).
[[nodiscard]] Result<std::string> parse_relative_path(std::string_view text);

/// The same, as written, and without `..`: a path inside a module's folder.
[[nodiscard]] Result<std::string> parse_inner_path(std::string_view text);

/// `folder/name`, or `name` where the folder is empty.
[[nodiscard]] std::string join_path(std::string_view folder, std::string_view name);

}  // namespace mesh::model
