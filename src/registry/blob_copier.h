#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "oci/manifest.h"
#include "registry/client.h"
#include "registry/ledger.h"
#include "registry/progress.h"
#include "registry/turns.h"
#include "registry/upstreams.h"

namespace mesh::registry {

/// Brings blobs into repositories of the mesh's registry: from another of its repositories where
/// one has it, otherwise from upstream, each digest once however many tasks want it.
class BlobCopier {
 public:
  struct Setting {
    http::Loop& loop;
    Client& own;
    Upstreams& upstreams;
    Ledger& ledger;
    Progress& progress;
    std::size_t at_once;
  };
  explicit BlobCopier(Setting setting)
      : setting_(setting), turns_(setting.loop), slots_(setting.loop, setting.at_once) {}

  struct Copied {
    Progress::How how = Progress::How::Held;
    std::uint64_t bytes = 0;  // from upstream
  };
  /// Within a task. `anew`: what the registry says that it has is not believed. Errors: as the
  /// clients', and Unsupported where the blob's size is not known.
  [[nodiscard]] Result<Copied> copy(const oci::Reference& source, const std::string& repository,
                                    const oci::Descriptor& blob, bool anew);

 private:
  [[nodiscard]] Result<Copied> bring(const oci::Reference& source, const std::string& repository,
                                     const oci::Descriptor& blob, bool anew);
  [[nodiscard]] Result<bool> mount(const std::string& repository, const oci::Digest& digest);
  [[nodiscard]] Result<Copied> fetch(const oci::Reference& source, const std::string& repository,
                                     const oci::Descriptor& blob, bool anew);
  [[nodiscard]] Status pass_through(const oci::Reference& source, const std::string& repository,
                                    const oci::Descriptor& blob, const oci::Onward& to,
                                    bool& again);

  Setting setting_;
  /// Where a blob is known to be; an empty name where what the ledger says has proved wrong.
  std::map<oci::Digest, std::string> homes_;
  Turns turns_;
  Slots slots_;
};

}  // namespace mesh::registry
