#include "oci/media_type.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"

namespace mesh::oci {

namespace {

constexpr std::size_t kLongestTypeName = 127;  // RFC 6838 section 4.2

char type_lower(char c) {
  return static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

bool is_type_character(char c) {
  const char l = type_lower(c);
  return (l >= 'a' && l <= 'z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$&-^_.+").find(c) != std::string_view::npos;
}

bool is_type_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestTypeName &&
         std::all_of(name.begin(), name.end(), is_type_character);
}

std::string_view without_blanks(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  return first == std::string_view::npos
             ? std::string_view()
             : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// `type` without `+gzip` or `+zstd`.
std::string_view without_compression(std::string_view type) {
  const auto plus = type.rfind('+');
  const auto suffix = plus == std::string_view::npos ? std::string_view() : type.substr(plus);
  return suffix == "+gzip" || suffix == "+zstd" ? type.substr(0, plus) : type;
}

/// The layers of OCI, whose compression is a suffix, and of Docker, whose is part of the name.
MediaKind layer_kind(std::string_view type) {
  static constexpr std::string_view kDockerLayer = "application/vnd.docker.image.rootfs.";
  const std::string_view bare = without_compression(type);
  if (bare == "application/vnd.oci.image.layer.v1.tar") {
    return MediaKind::Layer;
  }
  if (bare == "application/vnd.oci.image.layer.nondistributable.v1.tar") {
    return MediaKind::ForeignLayer;
  }
  if (!type.starts_with(kDockerLayer)) {
    return MediaKind::Other;
  }
  const std::string_view rest = type.substr(kDockerLayer.size());
  if (rest.starts_with("foreign.diff.tar")) {
    return MediaKind::ForeignLayer;
  }
  return rest.starts_with("diff.tar") ? MediaKind::Layer : MediaKind::Other;
}

}  // namespace

Result<std::string> parse_media_type(std::string_view text) {
  const std::string_view bare = without_blanks(text.substr(0, text.find(';')));
  if (bare.empty() && without_blanks(text).empty()) {
    return std::string();
  }
  const auto slash = bare.find('/');
  if (slash == std::string_view::npos || !is_type_name(bare.substr(0, slash)) ||
      !is_type_name(bare.substr(slash + 1))) {
    return fail(Code::InvalidArgument, fmt::format("\"{}\" is not a media type", printable(text)));
  }
  std::string type(bare);
  std::transform(type.begin(), type.end(), type.begin(), type_lower);
  return type;
}

MediaKind media_kind(std::string_view type) {
  if (type == kOciIndex || type == kDockerList) {
    return MediaKind::Index;
  }
  if (type == kOciManifest || type == kDockerManifest) {
    return MediaKind::Manifest;
  }
  if (type == kOciConfig || type == kDockerConfig) {
    return MediaKind::Config;
  }
  if (type == kDockerSchema1 || type == kDockerSchema1Signed) {
    return MediaKind::Schema1;
  }
  return layer_kind(type);
}

bool says_nothing(std::string_view type) {
  static constexpr std::array<std::string_view, 5> kVague{
      "", "application/octet-stream", "binary/octet-stream", "application/json", "text/plain"};
  return std::find(kVague.begin(), kVague.end(), type) != kVague.end();
}

std::string_view manifest_accept() {
  return "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "
         "application/vnd.docker.distribution.manifest.list.v2+json, "
         "application/vnd.docker.distribution.manifest.v2+json";
}

}  // namespace mesh::oci
