#include "base/version.h"

#include <array>
#include <charconv>

#include <fmt/format.h>

namespace mesh {

std::string Version::text() const {
  return fmt::format("{}.{}.{}", major, minor, patch);
}

std::optional<Version> parse_version(std::string_view text) {
  const std::size_t start = text.find_first_of("0123456789");
  if (start == std::string_view::npos) {
    return std::nullopt;
  }
  text.remove_prefix(start);
  std::array<int, 3> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto read = std::from_chars(text.data(), text.data() + text.size(), numbers.at(i));
    if (read.ec != std::errc{}) {
      return std::nullopt;
    }
    text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
    if (i < 2) {
      if (!text.starts_with('.')) {
        return std::nullopt;
      }
      text.remove_prefix(1);
    }
  }
  return Version{numbers[0], numbers[1], numbers[2]};
}

}  // namespace mesh
