#include "registry/image_copier.h"

#include <fmt/format.h>

#include <algorithm>

#include "registry/verifier.h"

namespace mesh::registry {
namespace {

constexpr std::size_t kManifestsAtOnce = 4;
constexpr std::size_t kBlobsOfAnImage = 6;  // asked for side by side; fewer are transferred

}  // namespace

Result<LedgerImage> ledger_image(const oci::Closure& closure, const std::string& media_type) {
  LedgerImage image{closure.root().text(), media_type, {}};
  MESH_TRY(const auto manifests, closure.manifests());
  for (const auto& blob : closure.blobs()) {
    image.members.push_back({blob.digest.text(), blob.size.value_or(0), false});
  }
  for (const auto& manifest : manifests) {
    image.members.push_back({manifest.digest.text(), manifest.size.value_or(0), true});
  }
  return image;
}

Result<oci::Closure> ImageCopier::closure(const oci::Reference& source, const oci::Digest& digest,
                                          bool& asked_upstream) {
  oci::Closure closure({.media_type = "",
                        .digest = digest,
                        .size = {},
                        .platform = {},
                        .urls = {},
                        .annotations = {},
                        .artifact_type = {},
                        .data = {}});
  while (!closure.complete()) {
    const auto missing = closure.missing();
    MESH_CHECK(each(setting_.loop, missing.size(), kManifestsAtOnce, [&](std::size_t at) -> Status {
      const oci::Digest wanted = missing[at].digest;
      MESH_TRY(const auto read, setting_.manifests.read(source, wanted));
      asked_upstream = asked_upstream || read.from_upstream;
      return closure.add(wanted, read.size, read.manifest);
    }));
  }
  return closure;
}

Result<ImageCopier::Copied> ImageCopier::copy(const Job& job) {
  Copied copied;
  MESH_TRY(const auto whole, closure(job.source, job.digest, copied.asked_upstream));
  MESH_TRY(const auto manifests, whole.manifests());
  setting_.progress.image_known(job.number, whole.blobs().size(), whole.bytes());
  // From here on a run that is broken off need not ask for the manifests again.
  MESH_CHECK(setting_.manifests.flush());
  MESH_CHECK(copy_blobs(job, whole, copied));
  MESH_CHECK(put_manifests(job, manifests));
  MESH_TRY(const auto root, setting_.manifests.bytes(job.digest));
  MESH_TRY(copied.image, ledger_image(whole, root.media_type));
  return copied;
}

Status ImageCopier::copy_blobs(const Job& job, const oci::Closure& closure, Copied& copied) {
  // The largest first: the last ones to end are then short.
  std::vector<oci::Descriptor> blobs = closure.blobs();
  std::ranges::stable_sort(blobs, std::ranges::greater(),
                           [](const oci::Descriptor& blob) { return blob.size.value_or(0); });
  return each(setting_.loop, blobs.size(), kBlobsOfAnImage, [&](std::size_t at) -> Status {
    MESH_TRY(const auto one, setting_.blobs.copy(job.source, job.repository, blobs[at],
                                                 job.anew.contains(blobs[at].digest)));
    copied.bytes += one.bytes;
    copied.asked_upstream = copied.asked_upstream || one.how == Progress::How::Fetched;
    return {};
  });
}

/// A registry that has damaged bytes under a digest takes it again, says yes and keeps them: what
/// it was given before is read back. What is new to it is what was just sent.
bool ImageCopier::may_be_damaged(const Job& job, const oci::Digest& digest) const {
  return job.anew.contains(digest) ||
         (!sound_.contains(digest) && setting_.manifests.was_known(digest));
}

Status ImageCopier::put_manifest(const Job& job, const oci::Digest& digest) {
  MESH_TRY(const auto bytes, setting_.manifests.bytes(digest));
  const bool read_back = may_be_damaged(job, digest);
  for (const bool last : {false, true}) {
    MESH_CHECK(setting_.own.put_manifest(job.repository, digest, bytes.media_type, bytes.bytes));
    const auto read =
        read_back ? read_manifest_back(setting_.own, job.repository, digest) : Status();
    if (read || read.error().code != Code::Corrupt) {
      MESH_CHECK(read);
      break;
    }
    if (last) {
      return std::unexpected(keeps_damaged(setting_.own.domain(), digest));
    }
    MESH_CHECK(clear_away(setting_.own, job.repository, setting_.storage, {digest}));
  }
  sound_.insert(digest);
  return {};
}

Status ImageCopier::put_manifests(const Job& job, const std::vector<oci::Descriptor>& manifests) {
  for (const auto& manifest : manifests) {
    MESH_CHECK(put_manifest(job, manifest.digest));
  }
  return {};
}

}  // namespace mesh::registry
