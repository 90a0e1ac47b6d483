#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mesh::oci {

/// What an image runs on, in Go's words (`linux`, `amd64`, `arm64`, `arm` and variant `v7`).
struct Platform {
  std::string os;
  std::string architecture;
  std::string variant;     // may be empty
  std::string os_version;  // may be empty; Windows
  std::vector<std::string> os_features;

  /// `os/architecture[/variant]`; without the os where that is not known.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Platform&, const Platform&) = default;
};

/// Parses `linux/arm64/v8`, `linux/arm64`. Names that others use become Go's (`aarch64`, `x86_64`,
/// `armhf`, …), and the variants that say nothing go (`arm64/v8`, `amd64/v1`; `arm` alone is `v7`).
/// InvalidArgument: not of that form.
[[nodiscard]] Result<Platform> parse_platform(std::string_view text);

/// The same platform with the names and variants that parse_platform would give.
[[nodiscard]] Platform normalised(Platform platform);

/// True where a machine of platform `machine` runs natively what is built for `image`: the same os
/// and architecture, and a variant that is not above the machine's.
[[nodiscard]] bool runs_on(const Platform& image, const Platform& machine);

}  // namespace mesh::oci
