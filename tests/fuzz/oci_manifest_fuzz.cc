#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "oci/auth_file.h"
#include "oci/closure.h"
#include "oci/manifest.h"

namespace {

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

/// What was read keeps what manifest.h promises.
void check_manifest(const mesh::oci::Manifest& manifest) {
  using mesh::oci::MediaKind;
  const bool index = manifest.kind == MediaKind::Index;
  require(index || manifest.kind == MediaKind::Manifest || manifest.kind == MediaKind::Schema1);
  require(manifest.kind == mesh::oci::media_kind(manifest.media_type));
  require(index ? manifest.layers.empty() && !manifest.config : manifest.children.empty());
  require(manifest.kind != MediaKind::Manifest || manifest.config.has_value());
  for (const auto& layer : manifest.layers) {
    require(manifest.kind == MediaKind::Schema1 || layer.size <= mesh::oci::kMostBlobBytes);
    require(!layer.data ||
            mesh::oci::digest_of(*layer.data, layer.digest.algorithm()) == layer.digest);
  }
  const auto* chosen = mesh::oci::choose(manifest, {"linux", "amd64", "", "", {}});
  require(chosen == nullptr || !mesh::oci::is_attestation(*chosen));
}

/// Every descendant that is asked for is answered with the same manifest: circles and depth end.
void walk(const mesh::oci::Digest& root, std::size_t size, const mesh::oci::Manifest& manifest) {
  mesh::oci::Closure closure({"", root, {}, {}, {}, {}, {}, {}}, {4, 64, 256});
  std::size_t steps = 0;
  while (!closure.complete()) {
    for (const auto& wanted : closure.missing()) {
      require(++steps <= 65);
      const std::size_t told = wanted.size ? static_cast<std::size_t>(*wanted.size) : size;
      if (!closure.add(wanted.digest, told, manifest)) {
        return;
      }
    }
  }
  const auto order = closure.manifests();
  require(!order || order->back().digest == root);
  (void)closure.bytes();
  (void)closure.outside_subjects();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  for (const char* type :
       {"", "application/vnd.docker.distribution.manifest.v2+json; charset=utf-8"}) {
    const auto strict = mesh::oci::read_manifest(text, {type, false, false});
    const auto lenient = mesh::oci::read_manifest(text, {type, true, true});
    require(!strict || lenient.has_value());
    if (lenient) {
      check_manifest(*lenient);
      walk(mesh::oci::digest_of(text), size, *lenient);
    } else {
      require(!lenient.error().message.empty());
    }
  }
  (void)mesh::oci::schema1_payload(text);
  if (const auto file = mesh::oci::AuthFile::parse(text, "auth.json")) {
    (void)file->sources("docker.io", "library/debian");
    (void)file->sources("a.example:5000", "b/c");
  }
  return 0;
}
