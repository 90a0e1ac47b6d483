#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace mesh::registry {

/// A manifest as it was read: the bytes, and the type to put them with.
struct LedgerManifest {
  std::string digest;
  std::string media_type;
  std::string bytes;
};

/// A content that an image consists of.
struct LedgerMember {
  std::string digest;
  std::uint64_t size = 0;
  bool manifest = false;  // otherwise a blob
};

/// An image whose whole closure was in a repository of a registry when it was last verified.
struct LedgerImage {
  std::string digest;
  std::string media_type;
  std::vector<LedgerMember> members;  // the root included; manifests in the order of putting them
};

/// An image that a repository holds.
struct LedgerHolding {
  std::string repository;
  LedgerImage image;
};

/// What the mirror remembers between runs; the inventory keeps it. Digests are their text. A
/// registry is `HOST[:PORT]`, so that another registry is never taken for the one that was
/// verified. Every function may fail as the inventory does.
class Ledger {
 public:
  Ledger() = default;
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;
  virtual ~Ledger() = default;

  /// The image of that digest, where any repository of `registry` holds it.
  [[nodiscard]] virtual Result<std::optional<LedgerImage>> image(const std::string& registry,
                                                                 const std::string& digest) = 0;
  /// The repositories that hold the image, the latest verified first.
  [[nodiscard]] virtual Result<std::vector<std::string>> repositories(
      const std::string& registry, const std::string& digest) = 0;
  /// A repository that holds a blob or manifest as part of an image.
  [[nodiscard]] virtual Result<std::optional<std::string>> home(const std::string& registry,
                                                                const std::string& member) = 0;
  /// Bytes of a manifest that was read before, from wherever.
  [[nodiscard]] virtual Result<std::optional<LedgerManifest>> manifest(
      const std::string& digest) = 0;

  /// Keeps manifests' bytes; those it has are left as they are.
  [[nodiscard]] virtual Status keep(const std::vector<LedgerManifest>& manifests) = 0;
  /// From now on the repositories hold these images, all of each; all are recorded or none.
  [[nodiscard]] virtual Status record(const std::string& registry,
                                      const std::vector<LedgerHolding>& holdings) = 0;
  /// It is not, or not all of it.
  [[nodiscard]] virtual Status forget(const std::string& registry, const std::string& repository,
                                      const std::string& digest) = 0;
};

}  // namespace mesh::registry
