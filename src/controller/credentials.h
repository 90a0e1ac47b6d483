#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "broker/accounts.h"
#include "controller/workspace.h"
#include "inventory/records.h"
#include "inventory/state.h"
#include "os/random.h"

namespace mesh::controller {

/// Every user of `accounts`, sorted: the principals and `controller.system`.
[[nodiscard]] std::vector<std::string> users_of(std::span<const broker::Account> accounts);

/// New credentials for those of `users` that have no hash yet, in their order; nothing is stored.
/// About 1 ms each, on all cores.
[[nodiscard]] Result<std::vector<inventory::NewCredential>> missing_credentials(
    std::span<const std::string> users, const inventory::Hashes& hashes, os::Random& random);

/// Gives each of `users` a credential where it has none: drawn and stored under the mesh's lock,
/// outside a push. Returns the names of those that were new, sorted. Errors: as
/// inventory::lock_state (taken only where one is missing) and Inventory.
[[nodiscard]] Result<std::vector<std::string>> issue_credentials(inventory::State& state,
                                                                 std::span<const std::string> users,
                                                                 const std::string& verb,
                                                                 Edges edges);

}  // namespace mesh::controller
