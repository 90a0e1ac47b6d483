#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace mesh::oci {

/// A date and a time of day, UTC.
struct Moment {
  int year = 1970;
  unsigned month = 1;
  unsigned day = 1;
  int hour = 0;
  int minute = 0;
  int second = 0;  // 60 is a leap second

  /// Seconds since 1970; nothing where there is no such day or time.
  [[nodiscard]] std::optional<std::int64_t> seconds() const;
};

/// The digits of `text` as a number; nothing where there are others, none, or more than nine.
[[nodiscard]] std::optional<int> digits_value(std::string_view text);

/// `hh:mm:ss` into `moment`; false where it is not one.
[[nodiscard]] bool read_clock(std::string_view text, Moment& moment);

/// Seconds since 1970 of `2026-08-01T12:30:00.123Z` (or with `+02:00`); nothing where it is none.
[[nodiscard]] std::optional<std::int64_t> parse_rfc3339(std::string_view text);

}  // namespace mesh::oci
