#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/result.h"
#include "oci/manifest.h"

namespace mesh::oci {

/// Bounds of a walk: real images need 2 levels and some dozens of manifests.
struct ClosureLimits {
  std::size_t depth = 8;  // indexes within indexes
  std::size_t manifests = 4096;
  std::size_t blobs = 65536;
};

/// Everything that an image consists of: found step by step, as its manifests become known.
///
///   Closure closure(root);
///   while (!closure.complete()) for (const auto& wanted : closure.missing()) closure.add(…);
///   put closure.blobs(), then closure.manifests() in that order
class Closure {
 public:
  /// `root` needs only a digest and a media type (may be empty); its size is checked where it is
  /// set.
  explicit Closure(Descriptor root, ClosureLimits limits = {});

  [[nodiscard]] const Digest& root() const { return root_; }
  /// Manifests that are referred to and not yet given, each once, in the order of their finding.
  [[nodiscard]] std::vector<Descriptor> missing() const;
  [[nodiscard]] bool complete() const { return missing_ == 0; }

  /// Takes a manifest that missing() names. `size` is that of its bytes, whose digest the caller
  /// has checked. InvalidArgument: not asked for. Corrupt: of another size than its descriptor
  /// says, two descriptors of one digest with two sizes, nested deeper or more than the limits, a
  /// circle.
  [[nodiscard]] Status add(const Digest& digest, std::uint64_t size, const Manifest& manifest);

  /// Configs and layers (and what else an index lists that is no manifest), each digest once, in
  /// the order of their finding. An index's children that are of a known blob type count as blobs,
  /// those of an unknown type as manifests.
  [[nodiscard]] const std::vector<Descriptor>& blobs() const { return blobs_; }

  /// All manifests in an order in which they can be put: children before the index, a subject
  /// before what refers to it, the root last. Corrupt: a circle. InvalidArgument: not complete.
  [[nodiscard]] Result<std::vector<Descriptor>> manifests() const;

  /// The blobs that one manifest names, for a check of that manifest alone; empty where it is not
  /// known.
  [[nodiscard]] std::vector<Digest> blobs_of(const Digest& manifest) const;

  /// Subjects that are not part of this image. A referrer may be put without them, so they are not
  /// walked.
  [[nodiscard]] std::vector<Descriptor> outside_subjects() const;

  /// Bytes of all blobs and manifests, each digest once; those of unknown size are not counted.
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  struct Node {
    Descriptor descriptor;
    std::size_t depth = 0;
    bool known = false;
    std::vector<Digest> children;
    std::vector<Digest> blobs;
    std::optional<Descriptor> subject;
  };

  [[nodiscard]] Status refer(const Descriptor& child, Node& parent, std::size_t depth);
  [[nodiscard]] Status take_blob(const Descriptor& blob, Node& parent);
  [[nodiscard]] Status deepen(const Digest& digest, std::size_t depth);

  Digest root_;
  ClosureLimits limits_;
  std::map<Digest, Node> nodes_;
  std::vector<Digest> found_;  // the nodes' order of finding
  std::vector<Descriptor> blobs_;
  std::map<Digest, std::optional<std::uint64_t>> blob_sizes_;
  std::size_t missing_ = 1;
};

}  // namespace mesh::oci
