#pragma once

#include <span>
#include <vector>

#include "broker/accounts.h"

namespace mesh::test {

/// The same users all in one account, which has JetStream and shares nothing: what one would write
/// by hand, to measure and to attack beside the accounts that Mesh composes.
[[nodiscard]] std::vector<broker::Account> in_one_account(
    std::span<const broker::Account> accounts);

}  // namespace mesh::test
