#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mesh::test {

/// A manifest of a made image.
struct MadeManifest {
  std::string digest;
  std::string media_type;
  std::string bytes;
};

/// An image that a test made, with all its bytes.
struct MadeImage {
  std::map<std::string, std::string> blobs;  // by digest
  std::vector<MadeManifest> manifests;       // children first, the root last

  [[nodiscard]] const std::string& digest() const { return manifests.back().digest; }
  /// Everything of `other` belongs to it too; the roots stay apart.
  void add_blobs(const MadeImage& other) { blobs.insert(other.blobs.begin(), other.blobs.end()); }
};

/// Bytes that look random and are the same for the same seed.
[[nodiscard]] std::string made_bytes(std::uint64_t seed, std::size_t size);

/// An image of one platform with layers of these sizes; `seed` makes its bytes its own.
[[nodiscard]] MadeImage made_image(std::uint64_t seed, const std::vector<std::size_t>& layers,
                                   std::string_view architecture = "amd64");

/// An index over whole images, in their order.
[[nodiscard]] MadeImage made_index(const std::vector<MadeImage>& children);

/// Puts it into a repository of the registry at `address` (plain http), and a tag where one is
/// given.
[[nodiscard]] Status push_made(const MadeImage& image, const std::string& address,
                               const std::string& repository, const std::string& tag = "");

/// One request without a body; the answer's status (0: none) and, in `body`, its body.
[[nodiscard]] int ask_registry(const std::string& method, const std::string& url,
                               std::string* body = nullptr);

}  // namespace mesh::test
