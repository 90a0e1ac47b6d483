#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "os/lock.h"
#include "registry/image_copier.h"
#include "registry/mirror.h"
#include "registry/verifier.h"

namespace mesh::registry {

/// What a Mirror is made of: one loop, the clients, and who copies what.
class Mirror::Engine {
 public:
  Engine(MirrorOptions options, Services services, Ledger& ledger, Progress& progress);

  [[nodiscard]] std::vector<Result<Mirrored>> run(std::span<const MirrorPair> pairs);
  [[nodiscard]] Result<oci::Digest> resolve(const oci::Reference& source);
  [[nodiscard]] Status reach();
  [[nodiscard]] Result<bool> holds(const std::string& repository, const oci::Digest& digest);
  [[nodiscard]] const std::vector<Asked>& asked() const { return account_.asked(); }
  [[nodiscard]] std::vector<Quota> quotas() const { return upstreams_.quotas(); }

 private:
  struct Meant {  // a pair's digest, and what to say about it
    oci::Digest digest;
    std::string remark;
  };

  // Within a task.
  [[nodiscard]] Result<Mirrored> mirror(std::size_t number, const MirrorPair& pair);
  [[nodiscard]] Result<Meant> meant(const MirrorPair& pair);
  struct Held {
    std::optional<LedgerImage> image;  // nothing: it is not held
    bool unreadable = false;           // it should be, and the registry fails over its root
  };
  /// The image as the ledger has it, where the registry still has its root in this repository.
  [[nodiscard]] Result<Held> held(const std::string& repository, const oci::Digest& digest);
  [[nodiscard]] Result<Standing> asks(const std::string& repository, const oci::Digest& digest);
  /// Whether the mesh's registry answers, asked once, before anything is asked of upstream.
  [[nodiscard]] Status reach_own();
  /// Adds what to do where the mesh's registry could not be reached.
  [[nodiscard]] Error about_own(Error error) const;
  /// Brings the image; `damage` is what is known to be wrong with it.
  [[nodiscard]] Status bring(ImageCopier::Job job, const Damage& damage, Mirrored& out);
  [[nodiscard]] Status verify(const ImageCopier::Job& job, const LedgerImage& image, Mirrored& out);
  [[nodiscard]] Status lock_out_others();
  [[nodiscard]] Status record(const std::string& repository, const LedgerImage& image);
  [[nodiscard]] Status forget(const std::string& repository, const oci::Digest& digest);
  [[nodiscard]] Status flush();

  MirrorOptions options_;
  Services services_;
  Ledger& ledger_;
  Progress& progress_;
  Account account_;
  Credentials credentials_;
  http::Loop loop_;
  Client own_;
  Upstreams upstreams_;
  ManifestStore manifests_;
  BlobCopier blobs_;
  ImageCopier images_;
  Turns turns_;  // for the lock, and for each repository and digest
  std::optional<Status> reached_;
  std::optional<os::Lock> lock_;
  std::vector<LedgerHolding> unrecorded_;
  os::Monotonic flushed_{};
};

}  // namespace mesh::registry
