#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "oci/digest.h"
#include "oci/reference.h"
#include "registry/access.h"
#include "registry/ledger.h"
#include "registry/progress.h"

namespace mesh::registry {

/// One image to hold.
struct MirrorPair {
  oci::Reference source;
  oci::Repository repository;  // in the mesh's registry
  /// What the source's tag meant before (mesh.lock): used, with a remark, where upstream cannot be
  /// asked now. Ignored where the source names a digest.
  std::optional<oci::Digest> locked;
};

/// What became of a pair.
struct Mirrored {
  oci::Digest digest;
  std::string reference;    // `HOST[:PORT]/repository@sha256:…`, of the mesh's registry
  bool held = false;        // nothing of it had to be fetched from upstream
  std::uint64_t bytes = 0;  // that came from upstream
  std::string remark;       // "upstream cannot be reached; …", else empty
};

/// What is left of an upstream's quota, as its last answer said.
struct Quota {
  std::string domain;
  std::int64_t limit = 0;
  std::int64_t remaining = 0;
  std::optional<os::WallTime> until;  // the end of the window, at the latest
};

struct MirrorOptions {
  std::string registry;                     // `HOST[:PORT]` of the mesh's registry
  Access access;                            // of it
  std::map<std::string, Access> upstreams;  // by domain; what is missing is reached by the defaults
  std::string state;  // the mesh's state directory: what locks other processes out
  /// Where a managed registry keeps its files, so that damaged bytes can be taken away (the
  /// registry itself never replaces them); empty where the registry is another's.
  std::string storage;
  bool verify = false;  // walk and hash what is held
  std::size_t blobs_at_once = 4;
  std::optional<os::Milliseconds> timeout;  // of a whole run
  int stop_fd = -1;                         // os/interrupt.h
};

/// Copies images into the mesh's registry, each content once. Held images are not asked of
/// upstream; see design in docs/mirror.md. One object is for one thread; several processes may
/// mirror into the same registry: they take turns, and each finds what the other has brought.
class Mirror {
 public:
  /// All but `options` are borrowed for the object's life.
  Mirror(MirrorOptions options, Services services, Ledger& ledger, Progress& progress);
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;
  ~Mirror();

  /// Makes every pair held; one result for each, in their order. A pair that fails leaves the
  /// others alone. Errors of a pair, beside those of the closure's bytes (Corrupt) and of what
  /// cannot be mirrored (Unsupported): Unavailable ("asking REGISTRY whether it holds …", or
  /// upstream), NotFound, PermissionDenied, Timeout, Interrupted.
  [[nodiscard]] std::vector<Result<Mirrored>> run(std::span<const MirrorPair> pairs);

  /// What a tag (or a digest) means upstream, by HEAD, once a run; asked of nobody for a digest.
  [[nodiscard]] Result<oci::Digest> resolve(const oci::Reference& source);

  /// Asks the mesh's registry whether it answers, once in the object's life; `run` does so itself
  /// before it asks anything of upstream. Errors: Unavailable, Timeout.
  [[nodiscard]] Status reach();

  /// Whether the registry holds the image and can read its manifest, by the ledger and one HEAD.
  /// Errors: Unavailable.
  [[nodiscard]] Result<bool> holds(const oci::Repository& repository, const oci::Digest& digest);

  /// Every request made of an upstream since the object was made, in order.
  [[nodiscard]] const std::vector<Asked>& asked() const;
  /// What upstreams have said of their quotas.
  [[nodiscard]] std::vector<Quota> quotas() const;

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace mesh::registry
