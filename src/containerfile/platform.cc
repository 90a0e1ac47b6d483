#include <array>
#include <optional>
#include <utility>

#include "base/text.h"
#include "containerfile/lines.h"
#include "containerfile/resolve.h"

namespace mesh::containerfile {

namespace {

struct PlatformParts {
  std::string os;
  std::string arch;
  std::string variant;
};

PlatformParts platform_parts(const std::string& platform) {
  PlatformParts out;
  const auto parts = split(platform, '/');
  out.os = parts[0];
  out.arch = parts.size() > 1 ? parts[1] : std::string_view();
  out.variant = parts.size() > 2 ? parts[2] : std::string_view();
  return out;
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kOtherNames{
    {{"x86_64", "amd64"},
     {"x86-64", "amd64"},
     {"aarch64", "arm64"},
     {"i386", "386"},
     {"i686", "386"},
     {"armhf", "arm"}}};

bool is_token(std::string_view text) {
  return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.-") ==
                              std::string_view::npos;
}

}  // namespace

std::optional<std::string> normal_platform(std::string_view text) {
  const std::string lower = ascii_lower(text);
  const auto parts = split(lower, '/');
  if (parts.size() > 3) {
    return std::nullopt;
  }
  for (const auto part : parts) {
    if (!is_token(part)) {
      return std::nullopt;
    }
  }
  PlatformParts out =
      platform_parts(parts.size() == 1 && lower != "linux" ? "linux/" + lower : lower);
  out.arch = out.arch.empty() ? "amd64" : out.arch;
  for (const auto& [other, name] : kOtherNames) {
    out.arch = out.arch == other ? std::string(name) : out.arch;
  }
  if ((out.arch == "arm64" && (out.variant == "v8" || out.variant == "8")) ||
      (out.arch == "amd64" && out.variant == "v1")) {
    out.variant.clear();
  }
  if (out.arch == "arm" && out.variant.empty()) {
    out.variant = "v7";
  }
  return out.os + "/" + out.arch + (out.variant.empty() ? "" : "/" + out.variant);
}

std::map<std::string, std::string> platform_args(const Settings& settings,
                                                 const std::string& target_stage) {
  const auto target = platform_parts(settings.platform);
  const auto build = platform_parts(settings.build_platform);
  return {{"TARGETPLATFORM", settings.platform},
          {"TARGETOS", target.os},
          {"TARGETARCH", target.arch},
          {"TARGETVARIANT", target.variant},
          {"TARGETSTAGE", target_stage.empty() ? "default" : target_stage},
          {"BUILDPLATFORM", settings.build_platform},
          {"BUILDOS", build.os},
          {"BUILDARCH", build.arch},
          {"BUILDVARIANT", build.variant}};
}

}  // namespace mesh::containerfile
