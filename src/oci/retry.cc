#include "oci/retry.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "oci/moment.h"

namespace mesh::oci {

namespace {

constexpr std::int64_t kMostWait = 10LL * 366 * 86400;  // what is longer says nothing more

std::string_view retry_trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  return first == std::string_view::npos
             ? std::string_view()
             : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// A number without sign, at most kMostWait.
std::optional<std::int64_t> whole_number(std::string_view text) {
  const bool digits =
      !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  if (!digits) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::min(value, kMostWait) : kMostWait;
}

std::vector<std::string_view> date_words(std::string_view text) {
  std::vector<std::string_view> out;
  while (true) {
    const auto from = text.find_first_not_of(" ,-");
    if (from == std::string_view::npos) {
      return out;
    }
    text.remove_prefix(from);
    out.push_back(text.substr(0, text.find_first_of(" ,-")));
    text.remove_prefix(out.back().size());
  }
}

std::optional<unsigned> month_number(std::string_view name) {
  static constexpr std::array<std::string_view, 12> kMonths{
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto* const found = std::find(kMonths.begin(), kMonths.end(), name);
  return found == kMonths.end() ? std::nullopt
                                : std::optional(static_cast<unsigned>(found - kMonths.begin()) + 1);
}

/// The year; one of two digits is that which is no more than 50 years after `now`.
std::optional<int> year_number(std::string_view text, std::int64_t now) {
  const auto value = digits_value(text);
  if (!value || (text.size() != 2 && text.size() != 4)) {
    return std::nullopt;
  }
  if (text.size() == 4) {
    return value;
  }
  const int this_year = static_cast<int>(1970 + now / 31'556'952);
  int year = this_year / 100 * 100 + *value;
  while (year > this_year + 50) {
    year -= 100;
  }
  return year;
}

bool retries(int status) {
  static constexpr std::array<int, 7> kWorthIt{0, 408, 429, 500, 502, 503, 504};
  return std::find(kWorthIt.begin(), kWorthIt.end(), status) != kWorthIt.end();
}

Decision give_up(std::string reason, std::optional<std::chrono::seconds> closed = {}) {
  return {false, std::chrono::milliseconds(0), std::move(reason), closed};
}

/// The wait after the `attempt`-th failure: twice the last, up to `most`, and up to a half more.
std::chrono::milliseconds own_wait(int attempt, const RetryPolicy& policy, double jitter) {
  auto wait = policy.first;
  for (int i = 1; i < attempt && wait < policy.most; ++i) {
    wait *= 2;
  }
  wait = std::min(wait, policy.most);
  const double more = static_cast<double>(wait.count()) * 0.5 * std::clamp(jitter, 0.0, 1.0);
  return wait + std::chrono::milliseconds(static_cast<std::int64_t>(more));
}

}  // namespace

std::optional<std::int64_t> parse_http_date(std::string_view text, std::int64_t now) {
  // `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994`
  const auto words = date_words(text);
  const bool c_form = words.size() == 5;
  if (!c_form && (words.size() != 6 || (words[5] != "GMT" && words[5] != "UTC"))) {
    return std::nullopt;
  }
  const auto month = month_number(words[c_form ? 1 : 2]);
  const auto day = digits_value(words[c_form ? 2 : 1]);
  const auto year = year_number(words[c_form ? 4 : 3], now);
  Moment moment;
  if (!month || !day || !year || !read_clock(words[c_form ? 3 : 4], moment)) {
    return std::nullopt;
  }
  moment.year = *year;
  moment.month = *month;
  moment.day = static_cast<unsigned>(*day);
  return moment.seconds();
}

std::optional<std::chrono::seconds> parse_retry_after(std::string_view text, std::int64_t now) {
  const std::string_view value = retry_trimmed(text);
  if (const auto seconds = whole_number(value)) {
    return std::chrono::seconds(*seconds);
  }
  const auto date = parse_http_date(value, now);
  return date ? std::optional(
                    std::chrono::seconds(std::clamp<std::int64_t>(*date - now, 0, kMostWait)))
              : std::nullopt;
}

std::optional<RateLimit> parse_rate_limit(std::string_view text) {
  const std::string_view value = retry_trimmed(text);
  const auto mark = value.find(';');
  const auto count = whole_number(retry_trimmed(value.substr(0, mark)));
  if (!count) {
    return std::nullopt;
  }
  RateLimit out{*count, std::nullopt};
  std::string_view rest =
      mark == std::string_view::npos ? std::string_view() : value.substr(mark + 1);
  while (!rest.empty()) {
    const std::string_view part = retry_trimmed(rest.substr(0, rest.find_first_of(";,")));
    if (const auto window = part.starts_with("w=") ? whole_number(part.substr(2)) : std::nullopt) {
      out.window = std::chrono::seconds(*window);
    }
    const auto next = rest.find_first_of(";,");
    rest = next == std::string_view::npos ? std::string_view() : rest.substr(next + 1);
  }
  return out;
}

Decision decide(const Failure& failure, int attempt, const RetryPolicy& policy, double jitter) {
  if (!retries(failure.status)) {
    return give_up("not worth repeating");
  }
  const auto& asked = failure.retry_after;
  const bool short_wait = asked && *asked <= policy.longest_obeyed;
  if (failure.status == 429 && failure.limit == Limit::Quota && !short_wait) {
    const auto closed = asked ? asked : failure.window;
    return give_up(closed ? fmt::format("its quota is spent for up to {} seconds", closed->count())
                          : std::string("its quota is spent"),
                   closed);
  }
  if (asked && !short_wait) {
    return give_up(fmt::format("it asks to wait {} seconds", asked->count()), asked);
  }
  if (attempt >= policy.attempts) {
    return give_up(fmt::format("after {} attempts", attempt), asked);
  }
  const auto own = own_wait(attempt, policy, jitter);
  if (!asked) {
    return {true, own, {}, {}};
  }
  // What all were told to wait for, all would ask for at the same moment: spread it.
  const auto spread = own_wait(1, policy, jitter) - policy.first;
  return {true, std::max<std::chrono::milliseconds>(*asked, policy.first) + spread, {}, {}};
}

}  // namespace mesh::oci
