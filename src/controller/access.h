#pragma once

#include <string>

#include "base/result.h"
#include "controller/bus_link.h"
#include "controller/steps.h"
#include "controller/workspace.h"
#include "inventory/state.h"

namespace mesh::controller {

/// Gives `principal` a new credential, which is in force once `put_access_in_force` has run.
[[nodiscard]] Result<secrets::Secret> renew_credential(inventory::State& state,
                                                       const std::string& principal, Edges edges);

/// Makes the bus know the credentials of the records, and nothing else: the latest push's grants
/// with the hashes of now. Users whose entry did not change stay connected. The caller holds the
/// state's lock. Without a push there is nothing to do. Errors: Unavailable (no bus runs), as
/// BusFileSwap::put.
[[nodiscard]] Status put_access_in_force(inventory::State& state, const std::string& root,
                                         Steps& steps);

}  // namespace mesh::controller
