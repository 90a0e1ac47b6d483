#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace mesh::oci {

inline constexpr std::string_view kOciIndex = "application/vnd.oci.image.index.v1+json";
inline constexpr std::string_view kOciManifest = "application/vnd.oci.image.manifest.v1+json";
inline constexpr std::string_view kOciConfig = "application/vnd.oci.image.config.v1+json";
inline constexpr std::string_view kOciEmpty = "application/vnd.oci.empty.v1+json";
inline constexpr std::string_view kDockerList =
    "application/vnd.docker.distribution.manifest.list.v2+json";
inline constexpr std::string_view kDockerManifest =
    "application/vnd.docker.distribution.manifest.v2+json";
inline constexpr std::string_view kDockerConfig = "application/vnd.docker.container.image.v1+json";
inline constexpr std::string_view kDockerSchema1 =
    "application/vnd.docker.distribution.manifest.v1+json";
inline constexpr std::string_view kDockerSchema1Signed =
    "application/vnd.docker.distribution.manifest.v1+prettyjws";

/// What the content of a type is, of OCI and of Docker alike.
enum class MediaKind {
  Index,         // an OCI index, a Docker manifest list
  Manifest,      // of one image or artifact
  Config,        // an image's configuration
  Layer,         // of an image: tar, gzip or zstd
  ForeignLayer,  // "nondistributable": to be had from its URLs, not from registries
  Schema1,       // Docker's first manifest, signed or not
  Other,         // anything else: bytes that are copied and not understood
};

/// The type alone: lower case, without parameters (`; charset=utf-8`) and blanks around. Empty for
/// an empty text. InvalidArgument: not `type/subtype` of RFC 6838's characters.
[[nodiscard]] Result<std::string> parse_media_type(std::string_view text);

/// The kind of a type as parse_media_type gives it.
[[nodiscard]] MediaKind media_kind(std::string_view type);

/// True for the types that say nothing of the content (none, `application/octet-stream`,
/// `application/json`, `text/plain`), which badly configured registries send for manifests.
[[nodiscard]] bool says_nothing(std::string_view type);

/// The value of `Accept` for every request of a manifest: always all four types, since a registry
/// that holds another type than those asked for answers "not found" or converts.
[[nodiscard]] std::string_view manifest_accept();

}  // namespace mesh::oci
