#pragma once

#include <chrono>
#include <string_view>

#include "base/result.h"

namespace mesh::cli {

/// A duration as declarations write it (`1h30m`), of `--timeout`. Errors: Usage.
[[nodiscard]] Result<std::chrono::milliseconds> parse_timeout(std::string_view text);

}  // namespace mesh::cli
