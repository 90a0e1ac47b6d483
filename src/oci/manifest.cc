#include "oci/manifest.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/json_text.h"
#include "base/text.h"
#include "oci/manifest_fields.h"

namespace mesh::oci {

namespace {

using nlohmann::json;

std::unexpected<Error> bad_manifest(std::string why, std::string hint = {}) {
  return fail(Code::Corrupt, "the manifest cannot be used: " + std::move(why), std::move(hint));
}

/// What is plainly no manifest, named for what it is.
Status check_is_json(std::string_view bytes, std::string_view content_type) {
  const auto first = bytes.find_first_not_of(" \t\r\n");
  if (content_type == "text/html" || (first != std::string_view::npos && bytes[first] == '<')) {
    return bad_manifest(
        "it is an HTML page",
        "ask whether the address is a registry's and not a web site's or a login page's");
  }
  if (bytes.size() > kMostManifestBytes) {
    return bad_manifest(
        fmt::format("it has {} bytes, the most are {}", bytes.size(), kMostManifestBytes));
  }
  return {};
}

bool is_schema1(const json& root, std::string_view type) {
  const auto version = root.find("schemaVersion");
  const bool one = version != root.end() && version->is_number_integer() && *version == 1;
  return one || is_there(root, "fsLayers") || media_kind(type) == MediaKind::Schema1;
}

/// What the fields say where nothing else does. (image-spec: the fields of both are disjoint.)
Result<std::string> type_by_fields(const json& root) {
  if (is_there(root, "manifests")) {
    return std::string(kOciIndex);
  }
  if (is_there(root, "config") || is_there(root, "layers")) {
    return std::string(kOciManifest);
  }
  return bad_manifest("it has neither a media type nor layers nor manifests");
}

Result<std::string> type_of(const json& root, const std::string& content_type) {
  MESH_TRY(const std::string written, text_field(root, "mediaType"));
  auto embedded = parse_media_type(written);
  if (!embedded) {
    return bad_manifest("its mediaType: " + embedded.error().message);
  }
  const bool vague = says_nothing(content_type);
  if (!embedded->empty() && !vague && *embedded != content_type) {
    return bad_manifest(fmt::format("its mediaType is {}, the Content-Type that came with it is {}",
                                    *embedded, content_type));
  }
  if (!embedded->empty()) {
    return *embedded;
  }
  return vague ? type_by_fields(root) : Result<std::string>(content_type);
}

/// The fields that belong to the kind are there, and none of the other's: what one reader takes for
/// an image another must not take for an index.
Status check_fields(const json& root, MediaKind kind, std::string_view type) {
  const bool index = kind == MediaKind::Index;
  for (const char* other : index ? std::vector{"layers", "config"} : std::vector{"manifests"}) {
    if (is_there(root, other)) {
      return bad_manifest(fmt::format("it is {} and has \"{}\"", type, other));
    }
  }
  const char* needed = index ? "manifests" : "config";
  if (root.find(needed) == root.end() || (!index && !is_there(root, needed))) {
    return bad_manifest(fmt::format("it is {} and has no \"{}\"", type, needed));
  }
  const auto version = root.find("schemaVersion");
  if (version != root.end() && *version != 2) {
    return bad_manifest("its schemaVersion is not 2");
  }
  return {};
}

Status check_foreign(const std::vector<Descriptor>& layers) {
  for (const auto& layer : layers) {
    if (layer.kind() == MediaKind::ForeignLayer) {
      return fail(Code::Unsupported,
                  fmt::format("layer {} is a foreign layer ({}), which registries do not hold",
                              layer.digest.text(), layer.media_type),
                  layer.urls.empty()
                      ? "its manifest names no URL for it either"
                      : "it is to be had from " + printable(layer.urls.front(), 200));
    }
  }
  return {};
}

Result<Manifest> read_schema1(const json& root) {
  Manifest out;
  out.kind = MediaKind::Schema1;
  out.media_type = is_there(root, "signatures") ? kDockerSchema1Signed : kDockerSchema1;
  MESH_TRY(const auto* layers, list_field(root, "fsLayers"));
  for (std::size_t i = 0; layers != nullptr && i < layers->size(); ++i) {
    if (!(*layers)[i].is_object()) {
      return bad_manifest(fmt::format("fsLayers[{}] is not an object", i));
    }
    MESH_TRY(const std::string sum, text_field((*layers)[i], "blobSum"));
    auto digest = Digest::parse(sum);
    if (!digest) {
      return within(fmt::format("the manifest cannot be used: fsLayers[{}]", i), digest.error());
    }
    // The first is the topmost; ours begin with the base.
    out.layers.insert(out.layers.begin(),
                      Descriptor{"application/vnd.docker.image.rootfs.diff.tar.gzip",
                                 std::move(*digest),
                                 {},
                                 {},
                                 {},
                                 {},
                                 {},
                                 {}});
  }
  return out;
}

Status read_lists(const json& root, Manifest& out) {
  if (out.kind == MediaKind::Index) {
    MESH_TRY(out.children, descriptors_field(root, "manifests"));
  } else {
    MESH_TRY(out.config, descriptor_field(root, "config"));
    MESH_TRY(out.layers, descriptors_field(root, "layers"));
  }
  MESH_TRY(out.subject, descriptor_field(root, "subject"));
  MESH_TRY(out.annotations, map_field(root, "annotations"));
  MESH_TRY(out.artifact_type, text_field(root, "artifactType"));
  return {};
}

Result<Manifest> read_schema2(const json& root, const std::string& content_type,
                              const ManifestReading& reading) {
  Manifest out;
  MESH_TRY(out.media_type, type_of(root, content_type));
  out.kind = media_kind(out.media_type);
  if (out.kind != MediaKind::Index && out.kind != MediaKind::Manifest) {
    return fail(Code::Unsupported,
                fmt::format("\"{}\" is not a type of manifest that Mesh knows", out.media_type),
                "OCI and Docker v2 images and indexes can be copied");
  }
  MESH_CHECK(check_fields(root, out.kind, out.media_type));
  if (auto read = read_lists(root, out); !read) {
    return within("the manifest cannot be used", read.error());
  }
  if (!reading.foreign_layers) {
    MESH_CHECK(check_foreign(out.layers));
  }
  return out;
}

}  // namespace

Result<Manifest> read_manifest(std::string_view bytes, const ManifestReading& reading) {
  const auto content_type = parse_media_type(reading.content_type);
  if (!content_type) {
    return bad_manifest("its Content-Type: " + content_type.error().message);
  }
  MESH_CHECK(check_is_json(bytes, *content_type));
  const auto root = parse_json(bytes);
  if (!root) {
    return within("the manifest cannot be used", root.error());
  }
  if (!root->is_object()) {
    return bad_manifest("it is not a JSON object");
  }
  if (auto spelled = check_spelling(*root, kManifestFields); !spelled) {
    return within("the manifest cannot be used", spelled.error());
  }
  if (is_schema1(*root, *content_type)) {
    return reading.schema1
               ? read_schema1(*root)
               : fail(Code::Unsupported,
                      "the manifest is of Docker's schema 1, whose digest is not that of its bytes",
                      "pull and push the image once with a current builder, and mirror that");
  }
  return read_schema2(*root, *content_type, reading);
}

bool is_attestation(const Descriptor& child) {
  const bool unknown = child.platform && child.platform->os == "unknown" &&
                       child.platform->architecture == "unknown";
  return unknown || child.annotations.contains("vnd.docker.reference.type");
}

const Descriptor* choose(const Manifest& index, const Platform& machine) {
  const Descriptor* best = nullptr;
  const Descriptor* bare = nullptr;
  std::size_t images = 0;
  for (const auto& child : index.children) {
    if (is_attestation(child) || child.kind() != MediaKind::Manifest) {
      continue;
    }
    ++images;
    if (!child.platform) {
      bare = &child;
    } else if (runs_on(*child.platform, machine) &&
               (best == nullptr || !runs_on(*child.platform, *best->platform))) {
      best = &child;
    }
  }
  return best == nullptr && images == 1 ? bare : best;
}

}  // namespace mesh::oci
