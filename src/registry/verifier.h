#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "registry/client.h"
#include "registry/ledger.h"

namespace mesh::registry {

/// What is wrong with an image that should be held.
struct Damage {
  std::set<oci::Digest> missing;
  std::set<oci::Digest> wrong;  // there, with other bytes
  [[nodiscard]] bool none() const { return missing.empty() && wrong.empty(); }
};

/// Reads a manifest from the mesh's registry and hashes it. Within a task. Errors: NotFound;
/// Corrupt (other bytes, or the registry fails over this one and answers otherwise); Unavailable.
[[nodiscard]] Status read_manifest_back(Client& own, const std::string& repository,
                                        const oci::Digest& digest);

/// Reads all of an image from the mesh's registry and hashes it, a few contents at a time. `moved`
/// (may be empty) is told of each blob that was read: its digest and size. Within a task. Errors:
/// Unavailable and what else keeps the registry from saying how things are.
[[nodiscard]] Result<Damage> walk(http::Loop& loop, Client& own, const std::string& repository,
                                  const LedgerImage& image,
                                  const std::function<void(const LedgerMember&)>& read);

/// Takes damaged contents out of the registry's way, so that they can be brought anew: it keeps
/// what it has under a digest, whatever it is. `storage` is the managed registry's own folder (its
/// files are looked at and removed only where they are damaged) or empty. Within a task.
[[nodiscard]] Status clear_away(Client& own, const std::string& repository,
                                const std::string& storage, const std::set<oci::Digest>& wrong);

/// What to say where even that did not help: Corrupt, with the file to remove.
[[nodiscard]] Error keeps_damaged(const std::string& domain, const oci::Digest& digest);

}  // namespace mesh::registry
