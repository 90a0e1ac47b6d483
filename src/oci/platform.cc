#include "oci/platform.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace mesh::oci {

namespace {

std::string platform_lower(std::string_view text) {
  std::string out(text);
  const auto lower = [](char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  };
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

bool is_platform_word(std::string_view word) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
  };
  return !word.empty() && std::all_of(word.begin(), word.end(), fits);
}

/// The architectures that have other names: name, Go's name, variant. (containerd/platforms.)
struct OtherName {
  std::string_view name;
  std::string_view architecture;
  std::string_view variant;
};
constexpr std::array<OtherName, 9> kOtherNames{{{"x86_64", "amd64", ""},
                                                {"x86-64", "amd64", ""},
                                                {"i386", "386", ""},
                                                {"i686", "386", ""},
                                                {"aarch64", "arm64", ""},
                                                {"armhf", "arm", "v7"},
                                                {"armv7l", "arm", "v7"},
                                                {"armel", "arm", "v6"},
                                                {"armv6l", "arm", "v6"}}};

/// The level of a variant (`v7` is 7); 0 where it is none of that form.
int variant_level(std::string_view architecture, std::string_view variant) {
  if (variant.empty()) {
    return architecture == "arm64" ? 8 : architecture == "arm" ? 7 : 1;
  }
  const bool plain =
      variant.size() == 2 && variant[0] == 'v' && variant[1] >= '1' && variant[1] <= '9';
  return plain ? variant[1] - '0' : 0;
}

}  // namespace

std::string Platform::text() const {
  std::string out = os.empty() ? architecture : os + "/" + architecture;
  return variant.empty() ? out : out + "/" + variant;
}

Platform normalised(Platform platform) {
  platform.os = platform_lower(platform.os);
  platform.architecture = platform_lower(platform.architecture);
  platform.variant = platform_lower(platform.variant);
  for (const auto& other : kOtherNames) {
    if (platform.architecture == other.name) {
      platform.architecture = other.architecture;
      platform.variant = platform.variant.empty() ? std::string(other.variant) : platform.variant;
    }
  }
  const std::string& architecture = platform.architecture;
  std::string& variant = platform.variant;
  if (!variant.empty() && variant[0] >= '5' && variant[0] <= '9' && variant.size() == 1) {
    variant.insert(0, "v");
  }
  if ((architecture == "arm64" && variant == "v8") ||
      (architecture == "amd64" && variant == "v1")) {
    variant.clear();
  }
  if (architecture == "arm" && variant.empty()) {
    variant = "v7";
  }
  return platform;
}

Result<Platform> parse_platform(std::string_view text) {
  const auto parts = split(text, '/');
  std::vector<std::string> words;
  for (const auto part : parts) {
    words.push_back(platform_lower(part));
  }
  if (words.size() < 2 || words.size() > 3 ||
      !std::all_of(words.begin(), words.end(), is_platform_word)) {
    return fail(Code::InvalidArgument, fmt::format("\"{}\" is not a platform", printable(text)),
                "write it as linux/amd64 or linux/arm/v7");
  }
  return normalised({words[0], words[1], words.size() == 3 ? words[2] : "", "", {}});
}

bool runs_on(const Platform& image, const Platform& machine) {
  const Platform a = normalised(image);
  const Platform b = normalised(machine);
  if (a.os != b.os || a.architecture != b.architecture) {
    return false;
  }
  const int needed = variant_level(a.architecture, a.variant);
  const int level = variant_level(b.architecture, b.variant);
  return needed == 0 || level == 0 ? a.variant == b.variant : needed <= level;
}

}  // namespace mesh::oci
