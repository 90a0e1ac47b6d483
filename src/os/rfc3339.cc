#include <fmt/format.h>

#include <optional>

#include "os/clock.h"

namespace mesh::os {

std::string rfc3339(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(time - day));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

namespace {

/// Reads fixed-width fields from the front of a text.
class Fields {
 public:
  explicit Fields(std::string_view text) : text_(text) {}

  std::optional<int> number(std::size_t width) {
    if (text_.size() < width) {
      return std::nullopt;
    }
    int value = 0;
    for (const char c : text_.substr(0, width)) {
      if (c < '0' || c > '9') {
        return std::nullopt;
      }
      value = value * 10 + (c - '0');
    }
    text_.remove_prefix(width);
    return value;
  }

  bool one_of(std::string_view allowed) {
    if (text_.empty() || allowed.find(text_[0]) == std::string_view::npos) {
      return false;
    }
    last_ = text_[0];
    text_.remove_prefix(1);
    return true;
  }

  // `.123456` as milliseconds, the rest cut.
  std::optional<int> fraction() {
    int value = 0;
    std::size_t digits = 0;
    for (; !text_.empty() && text_[0] >= '0' && text_[0] <= '9'; ++digits) {
      value = digits < 3 ? value * 10 + (text_[0] - '0') : value;
      text_.remove_prefix(1);
    }
    for (std::size_t i = digits; i < 3; ++i) {
      value *= 10;
    }
    return digits == 0 ? std::nullopt : std::optional(value);
  }

  [[nodiscard]] char last() const { return last_; }
  [[nodiscard]] bool empty() const { return text_.empty(); }

 private:
  std::string_view text_;
  char last_ = 0;
};

std::optional<std::chrono::sys_days> read_date(Fields& fields) {
  const auto year = fields.number(4);
  if (!year || !fields.one_of("-")) {
    return std::nullopt;
  }
  const auto month = fields.number(2);
  if (!month || !fields.one_of("-")) {
    return std::nullopt;
  }
  const auto day = fields.number(2);
  if (!day) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date(std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  return date.ok() ? std::optional(std::chrono::sys_days(date)) : std::nullopt;
}

std::optional<std::chrono::minutes> read_hour_minute(Fields& fields) {
  const auto hour = fields.number(2);
  if (!hour || !fields.one_of(":")) {
    return std::nullopt;
  }
  const auto minute = fields.number(2);
  if (!minute || *hour > 23 || *minute > 59) {
    return std::nullopt;
  }
  return std::chrono::hours(*hour) + std::chrono::minutes(*minute);
}

std::optional<Milliseconds> read_time(Fields& fields) {
  const auto minutes = read_hour_minute(fields);
  if (!minutes || !fields.one_of(":")) {
    return std::nullopt;
  }
  const auto second = fields.number(2);
  if (!second || *second > 60) {  // 60: a leap second
    return std::nullopt;
  }
  Milliseconds time = *minutes + std::chrono::seconds(*second);
  if (fields.one_of(".")) {
    const auto fraction = fields.fraction();
    if (!fraction) {
      return std::nullopt;
    }
    time += Milliseconds(*fraction);
  }
  return time;
}

std::optional<std::chrono::minutes> read_zone(Fields& fields) {
  if (fields.one_of("Zz")) {
    return std::chrono::minutes(0);
  }
  if (!fields.one_of("+-")) {
    return std::nullopt;
  }
  const bool west = fields.last() == '-';
  const auto offset = read_hour_minute(fields);
  return offset && west ? std::optional(-*offset) : offset;
}

std::optional<WallTime> read_instant(std::string_view text) {
  Fields fields(text);
  const auto date = read_date(fields);
  if (!date || !fields.one_of("Tt ")) {
    return std::nullopt;
  }
  const auto time = read_time(fields);
  const auto zone = time ? read_zone(fields) : std::nullopt;
  if (!zone || !fields.empty()) {
    return std::nullopt;
  }
  return WallTime(*date) + *time - *zone;
}

}  // namespace

Result<WallTime> parse_rfc3339(std::string_view text) {
  const auto instant = read_instant(text);
  if (!instant) {
    return fail(Code::InvalidArgument, "not a time as 2026-08-21T09:30:00Z");
  }
  return *instant;
}

}  // namespace mesh::os
