#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace mesh {

/// The version of a program. What follows the patch number (`-preview.1`, `+ds1`) is not kept.
struct Version {
  int major = 0;
  int minor = 0;
  int patch = 0;
  friend auto operator<=>(const Version&, const Version&) = default;

  [[nodiscard]] std::string text() const;
};

/// The version in `text`, such as `nats-server: v2.10.27` or `2.15.1`, or nothing.
[[nodiscard]] std::optional<Version> parse_version(std::string_view text);

}  // namespace mesh
