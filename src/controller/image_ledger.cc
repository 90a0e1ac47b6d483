#include "controller/image_ledger.h"

#include <utility>

namespace mesh::controller {

Result<std::optional<registry::LedgerImage>> ImageLedger::image(const std::string& registry,
                                                                const std::string& digest) {
  MESH_TRY(const auto record, inventory_.image(registry, digest));
  if (!record) {
    return std::optional<registry::LedgerImage>();
  }
  registry::LedgerImage image{record->digest, record->media_type, {}};
  for (const auto& member : record->members) {
    image.members.push_back({member.digest, member.size, member.manifest});
  }
  return image;
}

Result<std::vector<std::string>> ImageLedger::repositories(const std::string& registry,
                                                           const std::string& digest) {
  MESH_TRY(const auto holdings, inventory_.holdings(registry, digest));
  std::vector<std::string> out;
  for (const auto& holding : holdings) {
    out.push_back(holding.repository);
  }
  return out;
}

Result<std::optional<std::string>> ImageLedger::home(const std::string& registry,
                                                     const std::string& member) {
  return inventory_.home_of(registry, member);
}

Result<std::optional<registry::LedgerManifest>> ImageLedger::manifest(const std::string& digest) {
  MESH_TRY(auto record, inventory_.manifest(digest));
  if (!record) {
    return std::optional<registry::LedgerManifest>();
  }
  return registry::LedgerManifest{std::move(record->digest), std::move(record->media_type),
                                  std::move(record->bytes)};
}

Status ImageLedger::keep(const std::vector<registry::LedgerManifest>& manifests) {
  std::vector<inventory::ManifestRecord> records;
  for (const auto& one : manifests) {
    records.push_back({one.digest, one.media_type, one.bytes});
  }
  return inventory_.keep_manifests(records);
}

Status ImageLedger::record(const std::string& registry,
                           const std::vector<registry::LedgerHolding>& holdings) {
  std::vector<inventory::NewHolding> records;
  for (const auto& holding : holdings) {
    inventory::ImageRecord image{holding.image.digest, holding.image.media_type, {}};
    for (const auto& member : holding.image.members) {
      image.members.push_back({member.digest, member.size, member.manifest});
    }
    records.push_back({holding.repository, std::move(image)});
  }
  return inventory_.record_holdings(registry, records);
}

Status ImageLedger::forget(const std::string& registry, const std::string& repository,
                           const std::string& digest) {
  return inventory_.forget_holding(registry, repository, digest);
}

}  // namespace mesh::controller
