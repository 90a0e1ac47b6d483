#include "model/units.h"

#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace mesh::model {

namespace {

struct Unit {
  std::string_view name;
  std::int64_t worth;
};

constexpr std::array kDurations = {Unit{"d", 86'400'000}, Unit{"h", 3'600'000}, Unit{"m", 60'000},
                                   Unit{"s", 1'000}, Unit{"ms", 1}};
constexpr std::array kSizes = {Unit{"GiB", std::int64_t{1} << 30}, Unit{"MiB", 1 << 20},
                               Unit{"KiB", 1 << 10}, Unit{"B", 1}};
constexpr std::int64_t kLongestDuration = 36'500 * kDurations[0].worth;
constexpr std::int64_t kLargestSize = std::int64_t{1} << 53;

/// Takes digits from the front of `text`; nothing where there are none or too many.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t number = 0;
  if (text.empty() || text.front() < '0' || text.front() > '9') {
    return std::nullopt;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

std::string_view take_word(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && (text[length] < '0' || text[length] > '9')) {
    ++length;
  }
  const auto word = text.substr(0, length);
  text.remove_prefix(length);
  return word;
}

template <std::size_t N>
const Unit* find_unit(const std::array<Unit, N>& units, std::string_view name) {
  for (const auto& unit : units) {
    if (unit.name == name) {
      return &unit;
    }
  }
  return nullptr;
}

/// One number and its unit in units of worth 1, at most `most`.
template <std::size_t N>
std::optional<std::int64_t> take(std::string_view& text, const std::array<Unit, N>& units,
                                 std::int64_t most, const Unit*& unit) {
  const auto number = take_number(text);
  unit = find_unit(units, take_word(text));
  if (!number || unit == nullptr || *number > most / unit->worth) {
    return std::nullopt;
  }
  return *number * unit->worth;
}

std::unexpected<Error> not_a_duration(std::string_view text) {
  return fail(Code::InvalidArgument, fmt::format("\"{}\" is not a duration", printable(text)),
              "whole numbers of d, h, m, s and ms, the larger first, such as \"1h30m\"");
}

}  // namespace

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  std::int64_t total = 0;
  const Unit* last = nullptr;
  auto rest = text;
  do {
    const Unit* unit = nullptr;
    const auto part = take(rest, kDurations, kLongestDuration, unit);
    if (!part || (last != nullptr && unit->worth >= last->worth)) {
      return not_a_duration(text);
    }
    total += *part;
    last = unit;
  } while (!rest.empty());
  if (total > kLongestDuration) {
    return not_a_duration(text);
  }
  return std::chrono::milliseconds(total);
}

Result<std::chrono::milliseconds> parse_time(std::string_view text) {
  MESH_TRY(const auto duration, parse_duration(text));
  if (duration.count() == 0) {
    return fail(Code::InvalidArgument, fmt::format("\"{}\" is no time at all", printable(text)));
  }
  return duration;
}

Result<std::int64_t> parse_size(std::string_view text) {
  const Unit* unit = nullptr;
  auto rest = text;
  const auto size = take(rest, kSizes, kLargestSize, unit);
  if (!size || !rest.empty()) {
    return fail(Code::InvalidArgument, fmt::format("\"{}\" is not a size", printable(text)),
                "a whole number and B, KiB, MiB or GiB, such as \"64MiB\"");
  }
  return *size;
}

std::string duration_text(std::chrono::milliseconds duration) {
  std::string out;
  auto left = duration.count();
  for (const auto& unit : kDurations) {
    if (left >= unit.worth) {
      out += fmt::format("{}{}", left / unit.worth, unit.name);
      left %= unit.worth;
    }
  }
  return out.empty() ? "0s" : out;
}

std::string size_text(std::int64_t bytes) {
  for (const auto& unit : kSizes) {
    if (bytes % unit.worth == 0 && bytes >= unit.worth) {
      return fmt::format("{}{}", bytes / unit.worth, unit.name);
    }
  }
  return "0B";
}

}  // namespace mesh::model
