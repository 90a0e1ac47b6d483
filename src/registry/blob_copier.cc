#include "registry/blob_copier.h"

#include <fmt/format.h>

namespace mesh::registry {
namespace {

constexpr int kUploads = 3;

}  // namespace

Result<BlobCopier::Copied> BlobCopier::copy(const oci::Reference& source,
                                            const std::string& repository,
                                            const oci::Descriptor& blob, bool anew) {
  if (!blob.size) {
    return fail(Code::Unsupported,
                fmt::format("the size of blob {} is not known", blob.digest.text()));
  }
  MESH_TRY(const Copied copied, bring(source, repository, blob, anew));
  homes_.insert_or_assign(blob.digest, repository);
  setting_.progress.blob_ends(blob.digest.text(), *blob.size, copied.how);
  return copied;
}

Result<BlobCopier::Copied> BlobCopier::bring(const oci::Reference& source,
                                             const std::string& repository,
                                             const oci::Descriptor& blob, bool anew) {
  if (!anew) {
    MESH_TRY(const bool mounted, mount(repository, blob.digest));
    if (mounted) {
      return Copied{Progress::How::Mounted, 0};
    }
  }
  // Many repositories may mount a blob side by side; it is fetched by one task at a time, and who
  // waited for that mounts it after all.
  MESH_TRY(const auto turn, turns_.take(blob.digest.text()));
  if (!anew) {
    MESH_TRY(const bool mounted, mount(repository, blob.digest));
    if (mounted) {
      return Copied{Progress::How::Mounted, 0};
    }
  }
  return fetch(source, repository, blob, anew);
}

Result<bool> BlobCopier::mount(const std::string& repository, const oci::Digest& digest) {
  auto known = homes_.find(digest);
  if (known == homes_.end()) {
    MESH_TRY(const auto recorded, setting_.ledger.home(setting_.own.domain(), digest.text()));
    known = homes_.emplace(digest, recorded.value_or("")).first;
  }
  const std::string from = known->second;
  if (from.empty() || from == repository) {
    return false;
  }
  MESH_TRY(const Upload upload, setting_.own.begin_upload(repository, digest, from));
  if (upload.done) {
    return true;
  }
  setting_.own.cancel_upload(repository, *upload.onward);
  homes_.insert_or_assign(digest, "");
  return false;
}

Result<BlobCopier::Copied> BlobCopier::fetch(const oci::Reference& source,
                                             const std::string& repository,
                                             const oci::Descriptor& blob, bool anew) {
  MESH_TRY(const auto slot, slots_.take());
  for (int attempt = 1;; ++attempt) {
    // To mount from the repository itself asks, in the same request, whether it is there already.
    MESH_TRY(const Upload upload,
             setting_.own.begin_upload(repository, blob.digest, anew ? "" : repository));
    if (upload.done) {
      return Copied{Progress::How::Held, 0};
    }
    setting_.progress.blob_begins(blob.digest.text(), *blob.size);
    bool again = false;
    const Status done = pass_through(source, repository, blob, *upload.onward, again);
    if (done) {
      return Copied{Progress::How::Fetched, *blob.size};
    }
    setting_.own.cancel_upload(repository, *upload.onward);
    if (!again || attempt == kUploads) {
      return std::unexpected(done.error());
    }
  }
}

Status BlobCopier::pass_through(const oci::Reference& source, const std::string& repository,
                                const oci::Descriptor& blob, const oci::Onward& to, bool& again) {
  http::Loop& loop = setting_.loop;
  const std::string digest = blob.digest.text();
  const Expected expected{blob.digest, *blob.size, blob.media_type,
                          fmt::format("blob {} of {}", digest, source.name())};
  Window window(*blob.size);
  http::Waiters waiters;
  Incoming incoming(expected, &window, [&](std::uint64_t bytes) {
    setting_.progress.blob_moves(digest, bytes);
    if (window.worth_sending()) {
      loop.wake(waiters);
    }
  });
  std::optional<Status> got;
  loop.spawn([&] {
    Status status = setting_.upstreams.blob(source, expected, incoming);
    if (!status) {
      window.fail(status.error());
    }
    got = std::move(status);
    loop.wake(waiters);
  });
  loop.await(waiters, [&] { return got || window.worth_sending(); });
  Status put = window.failed() ? Status(std::unexpected(*window.failed()))
                               : setting_.own.upload(repository, blob.digest, to, window);
  if (!put && !window.failed()) {
    // The download did well; only what became of it may be tried again.
    again = put.error().code == Code::Unavailable || put.error().code == Code::Timeout;
    window.fail(put.error());
  }
  loop.await(waiters, [&] { return got.has_value(); });
  return put;
}

}  // namespace mesh::registry
