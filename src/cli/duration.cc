#include "cli/duration.h"

#include <fmt/format.h>
#include <charconv>
#include <cstdint>

#include "base/text.h"

namespace mesh::cli {

namespace {

constexpr std::int64_t kLongest = std::int64_t{1000} * 60 * 60 * 24 * 365;

std::int64_t unit_milliseconds(std::string_view unit) {
  if (unit == "ms") {
    return 1;
  }
  if (unit == "s") {
    return 1000;
  }
  if (unit == "m") {
    return 60'000;
  }
  if (unit == "h") {
    return 3'600'000;
  }
  return unit == "d" ? 86'400'000 : 0;
}

}  // namespace

Result<std::chrono::milliseconds> parse_timeout(std::string_view text) {
  const auto refused = [&] {
    return fail(Code::Usage, fmt::format("'{}' is no duration", printable(text)),
                "write it as 30s, 5m or 1h30m, at most 365d");
  };
  std::int64_t total = 0;
  auto rest = text;
  while (!rest.empty()) {
    std::int64_t number = 0;
    const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (read.ec != std::errc{} || number < 0 || rest.front() == '-') {
      return refused();
    }
    rest.remove_prefix(static_cast<std::size_t>(read.ptr - rest.data()));
    const auto unit_end = std::min(rest.find_first_of("0123456789"), rest.size());
    const auto unit = unit_milliseconds(rest.substr(0, unit_end));
    if (unit == 0 || number > kLongest / unit) {
      return refused();
    }
    total += number * unit;
    rest.remove_prefix(unit_end);
    if (total > kLongest) {
      return refused();
    }
  }
  if (total == 0) {
    return refused();
  }
  return std::chrono::milliseconds(total);
}

}  // namespace mesh::cli
