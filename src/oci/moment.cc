#include "oci/moment.h"

#include <algorithm>
#include <chrono>

namespace mesh::oci {

namespace {

constexpr std::size_t kMostDigits = 9;

bool is_moment_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Seconds of `Z`, `+hh:mm`, `-hh:mm`.
std::optional<std::int64_t> zone_offset(std::string_view text) {
  if (text == "Z" || text == "z") {
    return 0;
  }
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') {
    return std::nullopt;
  }
  const auto hours = digits_value(text.substr(1, 2));
  const auto minutes = digits_value(text.substr(4, 2));
  if (!hours || !minutes || *hours > 23 || *minutes > 59) {
    return std::nullopt;
  }
  const std::int64_t seconds = (std::int64_t{*hours} * 60 + *minutes) * 60;
  return text[0] == '-' ? -seconds : seconds;
}

}  // namespace

std::optional<std::int64_t> Moment::seconds() const {
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!date.ok() || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
      second > 60) {
    return std::nullopt;
  }
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return ((days * 24 + hour) * 60 + minute) * 60 + second;
}

std::optional<int> digits_value(std::string_view text) {
  if (text.empty() || text.size() > kMostDigits ||
      !std::all_of(text.begin(), text.end(), is_moment_digit)) {
    return std::nullopt;
  }
  int value = 0;
  for (const char c : text) {
    value = value * 10 + (c - '0');
  }
  return value;
}

bool read_clock(std::string_view text, Moment& moment) {
  if (text.size() != 8 || text[2] != ':' || text[5] != ':') {
    return false;
  }
  const auto hour = digits_value(text.substr(0, 2));
  const auto minute = digits_value(text.substr(3, 2));
  const auto second = digits_value(text.substr(6, 2));
  if (!hour || !minute || !second) {
    return false;
  }
  moment.hour = *hour;
  moment.minute = *minute;
  moment.second = *second;
  return true;
}

std::optional<std::int64_t> parse_rfc3339(std::string_view text) {
  static constexpr std::size_t kWithoutZone = 19;
  if (text.size() <= kWithoutZone || text[4] != '-' || text[7] != '-' ||
      (text[10] != 'T' && text[10] != 't' && text[10] != ' ')) {
    return std::nullopt;
  }
  const auto year = digits_value(text.substr(0, 4));
  const auto month = digits_value(text.substr(5, 2));
  const auto day = digits_value(text.substr(8, 2));
  Moment moment;
  if (!year || !month || !day || !read_clock(text.substr(11, 8), moment)) {
    return std::nullopt;
  }
  moment.year = *year;
  moment.month = static_cast<unsigned>(*month);
  moment.day = static_cast<unsigned>(*day);
  std::string_view rest = text.substr(kWithoutZone);
  if (rest.front() == '.') {
    const auto end = std::find_if_not(rest.begin() + 1, rest.end(), is_moment_digit);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.begin()));
  }
  const auto seconds = moment.seconds();
  const auto offset = zone_offset(rest);
  return seconds && offset ? std::optional(*seconds - *offset) : std::nullopt;
}

}  // namespace mesh::oci
