#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "oci/digest.h"
#include "oci/media_type.h"
#include "oci/platform.h"

namespace mesh::oci {

/// Registries refuse manifests over 4 MiB (distribution, and the specification's advice).
inline constexpr std::size_t kMostManifestBytes = std::size_t{4} << 20U;
/// A descriptor that announces more is refused: 16 TiB.
inline constexpr std::uint64_t kMostBlobBytes = std::uint64_t{1} << 44U;

/// A reference of one content to another (image-spec, descriptor.md).
struct Descriptor {
  std::string media_type;  // as parse_media_type gives it
  Digest digest;
  /// Bytes. Nothing only for the layers of a schema 1 manifest, which does not say.
  std::optional<std::uint64_t> size;
  std::optional<Platform> platform;
  std::vector<std::string> urls;
  std::map<std::string, std::string> annotations;
  std::string artifact_type;
  std::optional<std::string> data;  // the content itself, decoded and verified

  [[nodiscard]] MediaKind kind() const { return media_kind(media_type); }
};

/// A manifest or an index, as far as copying and choosing need it. The bytes are the caller's and
/// are passed on unchanged.
struct Manifest {
  std::string media_type;                // the one to PUT it with
  MediaKind kind = MediaKind::Manifest;  // Manifest, Index or Schema1
  std::string artifact_type;
  std::optional<Descriptor> config;
  std::vector<Descriptor> layers;    // each once as written, duplicates kept
  std::vector<Descriptor> children;  // of an index, in its order
  std::optional<Descriptor> subject;
  std::map<std::string, std::string> annotations;
};

/// What is known of a manifest from elsewhere, and what is asked for beyond the usual.
struct ManifestReading {
  std::string content_type;     // the header's value, parameters and all; empty where not known
  bool schema1 = false;         // read schema 1 instead of refusing it
  bool foreign_layers = false;  // let layers pass that are to be fetched from their URLs
};

/// Reads a manifest. Errors, each with the cause:
/// - Corrupt: not JSON, HTML, a key twice or in two spellings, a field of another type, both
/// `layers`
///   and `manifests`, `mediaType` other than the header's, a size that is negative or above
///   kMostBlobBytes, embedded `data` that is not what its digest says, larger than
///   kMostManifestBytes, nested too deeply.
/// - Unsupported: schema 1, a foreign layer (named), a digest of another algorithm, a manifest type
///   that is not known.
/// A missing `mediaType` is taken from the header, or else told from the fields.
[[nodiscard]] Result<Manifest> read_manifest(std::string_view bytes,
                                             const ManifestReading& reading = {});

/// The bytes that the digest of a schema 1 manifest is over: those without the signatures
/// (`signatures` of the JSON web signature say where they were put in). Of an unsigned one, all
/// bytes. Corrupt: signatures that contradict each other or the text.
[[nodiscard]] Result<std::string> schema1_payload(std::string_view bytes);

/// True for a child that is not an image to run but a statement about one, as BuildKit makes them
/// (annotation `vnd.docker.reference.type`, or platform `unknown/unknown`). It is copied as any
/// child and never chosen.
[[nodiscard]] bool is_attestation(const Descriptor& child);

/// The child of `index` to run on `machine`: of those that run on it the one of the highest
/// variant, the first of equals, never an attestation; a child without a platform only where it is
/// alone. Null where there is none.
[[nodiscard]] const Descriptor* choose(const Manifest& index, const Platform& machine);

}  // namespace mesh::oci
