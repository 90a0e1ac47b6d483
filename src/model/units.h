#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace mesh::model {

/// A duration as declarations write it: whole numbers of `d h m s ms`, the larger unit first, each
/// at most once (`1h30m`). At most 36,500 days. Errors: InvalidArgument.
[[nodiscard]] Result<std::chrono::milliseconds> parse_duration(std::string_view text);

/// The same, and more than nothing.
[[nodiscard]] Result<std::chrono::milliseconds> parse_time(std::string_view text);

/// A size in bytes as declarations write it: a whole number and `B`, `KiB`, `MiB` or `GiB`. At most
/// 2^53 bytes, so that JSON can carry it. Errors: InvalidArgument.
[[nodiscard]] Result<std::int64_t> parse_size(std::string_view text);

/// The shortest text that `parse_duration` reads back; `0s` for none. Never negative.
[[nodiscard]] std::string duration_text(std::chrono::milliseconds duration);

/// The text that `parse_size` reads back, in the largest unit that divides it.
[[nodiscard]] std::string size_text(std::int64_t bytes);

}  // namespace mesh::model
