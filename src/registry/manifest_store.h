#pragma once

#include <map>
#include <set>
#include <string>

#include "base/result.h"
#include "oci/manifest.h"
#include "registry/ledger.h"
#include "registry/upstreams.h"

namespace mesh::registry {

/// Manifests' bytes, each read once from upstream however many images name it, and kept in the
/// ledger, so that a run that was broken off does not ask for them again.
class ManifestStore {
 public:
  ManifestStore(http::Loop& loop, Upstreams& upstreams, Ledger& ledger)
      : upstreams_(upstreams), ledger_(ledger), turns_(loop) {}

  struct Read {
    oci::Manifest manifest;
    std::uint64_t size = 0;
    bool from_upstream = false;
  };
  /// Errors: as Upstreams::manifest and oci::read_manifest.
  [[nodiscard]] Result<Read> read(const oci::Reference& source, const oci::Digest& digest);
  /// The bytes of a manifest that was read. Errors: NotFound, and the ledger's.
  [[nodiscard]] Result<LedgerManifest> bytes(const oci::Digest& digest);
  /// Whether it was read by an earlier run, and so may have been given to the registry before.
  [[nodiscard]] bool was_known(const oci::Digest& digest) const {
    return !read_now_.contains(digest.text());
  }
  /// Hands what is new to the ledger.
  [[nodiscard]] Status flush();

 private:
  Upstreams& upstreams_;
  Ledger& ledger_;
  Turns turns_;
  std::map<std::string, LedgerManifest> fresh_;  // not in the ledger yet
  std::size_t fresh_bytes_ = 0;
  std::set<std::string> read_now_;  // of upstream, in this run
};

}  // namespace mesh::registry
