#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "registry/ledger.h"

namespace mesh::test {

/// A mirror's ledger that lives in memory, as the inventory would keep it.
class MemoryLedger final : public registry::Ledger {
 public:
  Result<std::optional<registry::LedgerImage>> image(const std::string& registry,
                                                     const std::string& digest) override {
    return repositories(registry, digest)->empty() ? std::optional<registry::LedgerImage>()
                                                   : std::optional(images.at(digest));
  }
  Result<std::vector<std::string>> repositories(const std::string& registry,
                                                const std::string& digest) override {
    std::vector<std::string> out;
    for (const auto& [where, repository, image] : held) {
      if (where == registry && image == digest) {
        out.push_back(repository);
      }
    }
    return out;
  }
  Result<std::optional<std::string>> home(const std::string& registry,
                                          const std::string& member) override {
    for (const auto& [where, repository, image] : held) {
      for (const auto& one : images.at(image).members) {
        if (where == registry && one.digest == member) {
          return std::optional(repository);
        }
      }
    }
    return std::optional<std::string>();
  }
  Result<std::optional<registry::LedgerManifest>> manifest(const std::string& digest) override {
    const auto found = manifests.find(digest);
    return found == manifests.end() ? std::nullopt : std::optional(found->second);
  }
  Status keep(const std::vector<registry::LedgerManifest>& all) override {
    for (const auto& one : all) {
      manifests.emplace(one.digest, one);
    }
    return {};
  }
  Status record(const std::string& registry,
                const std::vector<registry::LedgerHolding>& holdings) override {
    for (const auto& one : holdings) {
      images.insert_or_assign(one.image.digest, one.image);
      held.emplace(registry, one.repository, one.image.digest);
    }
    return {};
  }
  Status forget(const std::string& registry, const std::string& repository,
                const std::string& digest) override {
    held.erase({registry, repository, digest});
    return {};
  }

  std::map<std::string, registry::LedgerManifest> manifests;
  std::map<std::string, registry::LedgerImage> images;
  std::set<std::tuple<std::string, std::string, std::string>> held;
};

}  // namespace mesh::test
