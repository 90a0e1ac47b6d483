#pragma once

#include "inventory/inventory.h"
#include "registry/ledger.h"

namespace mesh::controller {

/// The mirror's ledger, kept in the inventory (borrowed).
class ImageLedger final : public registry::Ledger {
 public:
  explicit ImageLedger(inventory::Inventory& inventory) : inventory_(inventory) {}

  Result<std::optional<registry::LedgerImage>> image(const std::string& registry,
                                                     const std::string& digest) override;
  Result<std::vector<std::string>> repositories(const std::string& registry,
                                                const std::string& digest) override;
  Result<std::optional<std::string>> home(const std::string& registry,
                                          const std::string& member) override;
  Result<std::optional<registry::LedgerManifest>> manifest(const std::string& digest) override;
  Status keep(const std::vector<registry::LedgerManifest>& manifests) override;
  Status record(const std::string& registry,
                const std::vector<registry::LedgerHolding>& holdings) override;
  Status forget(const std::string& registry, const std::string& repository,
                const std::string& digest) override;

 private:
  inventory::Inventory& inventory_;
};

}  // namespace mesh::controller
