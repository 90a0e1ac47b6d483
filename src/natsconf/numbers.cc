#include "natsconf/numbers.h"

#include <array>
#include <charconv>
#include <chrono>
#include <string>

namespace mesh::natsconf {
namespace {

constexpr std::string_view kUnits = "kmgtpe";

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

/// What a suffix multiplies by; 0 for one that the server does not know.
std::uint64_t factor(std::string_view suffix) {
  if (suffix.empty()) {
    return 1;
  }
  const std::size_t unit = kUnits.find(suffix[0]);
  const std::string_view rest = suffix.substr(1);
  std::uint64_t step = 0;
  if (rest.empty()) {
    step = 1000;
  } else if (rest == "b" || rest == "i" || rest == "ib") {
    step = 1024;
  } else {
    return 0;
  }
  std::uint64_t out = 1;
  for (std::size_t i = 0; i <= unit; ++i) {
    out *= step;
  }
  return out;
}

int two_digits(std::string_view text, std::size_t at) {
  return (text[at] - '0') * 10 + (text[at + 1] - '0');
}

}  // namespace

IntegerReading read_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    return {0, NumberError::OutOfRange};
  }
  if (error != std::errc{}) {
    return {0, NumberError::NotANumber};
  }
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  const std::string suffix = lower(rest);
  if (!suffix.empty() && kUnits.find(suffix[0]) == std::string_view::npos) {
    return {0, NumberError::NotANumber};
  }
  const std::uint64_t by = factor(suffix);
  if (by == 0) {
    return {0, NumberError::UnknownSuffix};
  }
  return {static_cast<std::int64_t>(static_cast<std::uint64_t>(value) * by), NumberError::None};
}

std::optional<double> read_float(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    // Too small is zero to the server, too large is refused.
    const std::string_view whole = text.substr(0, text.find('.'));
    return whole.find_first_of("123456789") == std::string_view::npos ? std::optional(0.0)
                                                                      : std::nullopt;
  }
  if (error != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

std::optional<std::int64_t> read_datetime(std::string_view text) {
  constexpr std::size_t kLength = 20;
  if (text.size() != kLength ||
      text.find_first_not_of("0123456789-:TZ") != std::string_view::npos) {
    return std::nullopt;
  }
  const std::chrono::year_month_day day{
      std::chrono::year{two_digits(text, 0) * 100 + two_digits(text, 2)},
      std::chrono::month{static_cast<unsigned>(two_digits(text, 5))},
      std::chrono::day{static_cast<unsigned>(two_digits(text, 8))}};
  const int hour = two_digits(text, 11);
  const int minute = two_digits(text, 14);
  const int second = two_digits(text, 17);
  if (!day.ok() || hour > 23 || minute > 59 || second > 59) {
    return std::nullopt;
  }
  const std::int64_t days = std::chrono::sys_days{day}.time_since_epoch().count();
  return ((days * 24 + hour) * 60 + minute) * 60 + second;
}

}  // namespace mesh::natsconf
