#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "registry/access.h"

namespace mesh::registry {

/// A manifest in a repository.
struct Removal {
  std::string repository;
  std::string digest;
};

/// The registry that it is in.
struct RemovalFrom {
  std::string domain;  // HOST[:PORT]
  Access access;
  int stop_fd = -1;
  std::optional<os::Milliseconds> timeout{};  // of all that is asked
};

/// Whether it answers at all. Errors: Unavailable, Timeout, Interrupted.
[[nodiscard]] Status reach(const RemovalFrom& from, const Services& services);

/// Whether each is there and can be read, by a HEAD of it, several at once. Errors: as above.
[[nodiscard]] Result<std::vector<bool>> have_manifests(const RemovalFrom& from,
                                                       const Services& services,
                                                       std::span<const Removal> asked);

/// Removes the manifests in their order; those that are not there are no error. Stops at the first
/// that fails. Errors: Unsupported (the registry does not delete), PermissionDenied, Unavailable,
/// Interrupted.
[[nodiscard]] Status remove_manifests(const RemovalFrom& from, const Services& services,
                                      std::span<const Removal> removals);

}  // namespace mesh::registry
