#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mesh::controller {

/// A manifest or index as a repository of the registry holds it. Digests are their text.
struct HeldManifest {
  std::string repository{};
  std::string digest{};
  std::uint64_t size = 0;
  std::vector<std::string> children{};
  std::string subject{};                                       // empty where it has none
  std::vector<std::pair<std::string, std::uint64_t>> blobs{};  // digest, bytes
  std::vector<std::string> tags{};                             // that name it
  bool ours = false;                                           // Mesh put it there, by its records
  bool readable = true;  // false: what belongs to it is not known
};

/// An image in one repository, and what goes with it.
struct UnusedImage {
  std::string repository{};
  std::string digest{};
  std::vector<std::string> tags{};
  std::vector<std::string> manifests{};  // to remove, in this order: itself, then those it held
  std::uint64_t bytes = 0;               // of all that belongs to it, shared or not
};

struct KeptImage {
  std::string repository{};
  std::string digest{};
  std::string because{};
};

struct PrunePlan {
  std::vector<UnusedImage> unused{};
  std::vector<KeptImage> kept{};     // named, or needed by one that is
  std::vector<KeptImage> foreign{};  // nothing names them, and Mesh did not put them there
  std::uint64_t frees = 0;           // bytes that nothing else needs
};

/// What nothing names. `named` is who names it: by digest, in whatever repository, by
/// `repository:tag`, or all of a repository by its name alone. With an image all that it consists
/// of stays, its subject, and what refers to it (by subject, or by a tag `sha256-…`). Where what
/// belongs to a kept image is not known, its whole repository stays. Images that are not `ours`
/// stay, unless `all`. Lists are sorted by repository and digest; pure.
[[nodiscard]] PrunePlan plan_prune(const std::vector<HeldManifest>& held,
                                   const std::map<std::string, std::string>& named, bool all);

}  // namespace mesh::controller
