#include "registry/manifest_store.h"

#include <fmt/format.h>

namespace mesh::registry {
namespace {

// So much is held in memory between two commits of the ledger.
constexpr std::size_t kMostFresh = std::size_t{4} << 20U;

}  // namespace

Result<LedgerManifest> ManifestStore::bytes(const oci::Digest& digest) {
  if (const auto fresh = fresh_.find(digest.text()); fresh != fresh_.end()) {
    return fresh->second;
  }
  MESH_TRY(auto kept, ledger_.manifest(digest.text()));
  if (!kept || oci::digest_of(kept->bytes, digest.algorithm()) != digest) {
    return fail(Code::NotFound, fmt::format("manifest {} is not in the ledger", digest.text()));
  }
  return *std::move(kept);
}

Result<ManifestStore::Read> ManifestStore::read(const oci::Reference& source,
                                                const oci::Digest& digest) {
  MESH_TRY(const auto turn, turns_.take(digest.text()));
  const auto known = bytes(digest);
  if (known) {
    MESH_TRY(auto manifest, oci::read_manifest(known->bytes, {.content_type = known->media_type}));
    return Read{std::move(manifest), known->bytes.size(), false};
  }
  if (known.error().code != Code::NotFound) {
    return std::unexpected(known.error());
  }
  MESH_TRY(ManifestBody body, upstreams_.manifest(source, digest));
  auto manifest = oci::read_manifest(body.bytes, {.content_type = body.content_type});
  if (!manifest) {
    return within(fmt::format("manifest {} of {}", digest.text(), source.name()),
                  std::move(manifest).error());
  }
  const std::size_t size = body.bytes.size();
  fresh_bytes_ += size;
  read_now_.insert(digest.text());
  fresh_.emplace(digest.text(),
                 LedgerManifest{digest.text(), manifest->media_type, std::move(body.bytes)});
  if (fresh_bytes_ > kMostFresh) {
    MESH_CHECK(flush());
  }
  return Read{*std::move(manifest), size, true};
}

Status ManifestStore::flush() {
  if (fresh_.empty()) {
    return {};
  }
  std::vector<LedgerManifest> all;
  for (auto& [digest, manifest] : fresh_) {
    all.push_back(std::move(manifest));
  }
  fresh_.clear();
  fresh_bytes_ = 0;
  return ledger_.keep(all);
}

}  // namespace mesh::registry
