#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "os/clock.h"
#include "tests/support/fake_engine.h"

// What the fake engine reads and writes. Included by its parts alone.
namespace mesh::test {

[[nodiscard]] std::vector<std::string> fake_command(const FakeContainer& container);
/// The answer to an inspection.
[[nodiscard]] nlohmann::json fake_inspect(const FakeContainer& container);
/// One line of a log as it goes over the wire.
[[nodiscard]] std::string fake_frame(const std::string& time, const std::string& line);
/// Does what `act show` does in the container that `body` made.
void fake_show(const nlohmann::json& body, const std::vector<std::string>& paths);

inline constexpr std::int64_t kFakeEpoch = 1'800'000'000;

inline std::string unescaped(std::string_view text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; };
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '%' && at + 2 < text.size()) {
      out += static_cast<char>(digit(text[at + 1]) * 16 + digit(text[at + 2]));
      at += 2;
    } else {
      out += text[at];
    }
  }
  return out;
}

/// The value in a target's query, unescaped.
inline std::string query_value(std::string_view target, const std::string& name,
                               std::string otherwise) {
  for (std::size_t at = target.find('?'); at != std::string_view::npos;
       at = target.find('&', at + 1)) {
    const auto pair = target.substr(at + 1, target.find('&', at + 1) - at - 1);
    if (pair.starts_with(name + "=")) {
      return unescaped(pair.substr(name.size() + 1));
    }
  }
  return otherwise;
}

inline std::string rfc3339_of(std::int64_t seconds) {
  return os::rfc3339(os::WallTime(std::chrono::seconds(seconds)));
}

inline std::int64_t seconds_of(const std::string& time) {
  const auto parsed = os::parse_rfc3339(time);
  return parsed
             ? std::chrono::duration_cast<std::chrono::seconds>(parsed->time_since_epoch()).count()
             : 0;
}

}  // namespace mesh::test
