#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "oci/closure.h"
#include "oci/reference.h"
#include "registry/blob_copier.h"
#include "registry/ledger.h"
#include "registry/manifest_store.h"

namespace mesh::registry {

/// Brings whole images into repositories: blobs, then manifests from the leaves to the root.
class ImageCopier {
 public:
  struct Setting {
    http::Loop& loop;
    Client& own;
    ManifestStore& manifests;
    BlobCopier& blobs;
    Progress& progress;
    std::string storage{};  // of a managed registry, as MirrorOptions has it
  };
  explicit ImageCopier(Setting setting) : setting_(setting) {}

  struct Job {
    std::size_t number = 0;  // for the progress
    oci::Reference source;
    std::string repository;
    oci::Digest digest;
    /// Members that the registry has in a damaged form: brought anew.
    std::set<oci::Digest> anew = {};
  };
  struct Copied {
    LedgerImage image;
    bool asked_upstream = false;
    std::uint64_t bytes = 0;
  };
  /// Within a task. Errors: as BlobCopier::copy, ManifestStore::read, Client::put_manifest.
  [[nodiscard]] Result<Copied> copy(const Job& job);

  /// All that the image consists of, its manifests read.
  [[nodiscard]] Result<oci::Closure> closure(const oci::Reference& source,
                                             const oci::Digest& digest, bool& asked_upstream);

 private:
  [[nodiscard]] Status copy_blobs(const Job& job, const oci::Closure& closure, Copied& copied);
  [[nodiscard]] Status put_manifests(const Job& job, const std::vector<oci::Descriptor>& manifests);
  [[nodiscard]] Status put_manifest(const Job& job, const oci::Digest& digest);
  [[nodiscard]] bool may_be_damaged(const Job& job, const oci::Digest& digest) const;

  Setting setting_;
  std::set<oci::Digest> sound_;  // manifests that the registry took or gave back in this run
};

/// What the ledger keeps of a closure. Errors: as Closure::manifests.
[[nodiscard]] Result<LedgerImage> ledger_image(const oci::Closure& closure,
                                               const std::string& media_type);

}  // namespace mesh::registry
