#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "registry/access.h"

namespace mesh::registry {

/// A manifest to take out of a repository.
struct Removal {
  std::string repository;
  std::string digest;
};

/// The registry that it is taken out of.
struct RemovalFrom {
  std::string domain;  // HOST[:PORT]
  Access access;
  int stop_fd = -1;
};

/// Removes the manifests in their order; those that are not there are no error. Stops at the first
/// that fails. Errors: Unsupported (the registry does not delete), PermissionDenied, Unavailable,
/// Interrupted.
[[nodiscard]] Status remove_manifests(const RemovalFrom& from, const Services& services,
                                      std::span<const Removal> removals);

}  // namespace mesh::registry
