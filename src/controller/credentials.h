#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "broker/accounts.h"
#include "inventory/records.h"
#include "os/random.h"

namespace mesh::controller {

/// Every user of `accounts`, sorted: the principals and `controller.system`.
[[nodiscard]] std::vector<std::string> users_of(std::span<const broker::Account> accounts);

/// New credentials for those of `users` that have no hash yet, in their order; nothing is stored.
/// About 1 ms each, on all cores.
[[nodiscard]] Result<std::vector<inventory::NewCredential>> missing_credentials(
    std::span<const std::string> users, const inventory::Hashes& hashes, os::Random& random);

}  // namespace mesh::controller
