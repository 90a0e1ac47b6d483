#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "broker/accounts.h"
#include "broker/compose.h"
#include "broker/config_view.h"
#include "broker/principals.h"
#include "plan/change.h"

namespace mesh::plan {

/// What should be able to connect, and as what.
struct WantedAccess {
  std::span<const broker::Account> accounts;      // sorted by name
  std::span<const broker::Principal> principals;  // sorted by name
  const broker::Hashes& hashes;                   // the credentials in the records
};

/// The credentials, accounts, users and grants that the configuration in force lacks, has
/// differently or should not have, in this order, each sorted by name. `in_force` is null where
/// there is none yet. `connected` are the users that have a connection now: those whose entry goes
/// or whose password changes are disconnected.
[[nodiscard]] std::vector<Change> access_plan(const WantedAccess& wanted,
                                              const broker::ConfigView* in_force,
                                              const std::set<std::string>& connected);

/// True where an account comes that was not there: its imports work only after a second reload.
[[nodiscard]] bool accounts_grow(const WantedAccess& wanted, const broker::ConfigView* in_force);

}  // namespace mesh::plan
