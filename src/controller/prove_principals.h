#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "broker/principals.h"
#include "controller/bus_link.h"
#include "controller/steps.h"
#include "model/declarations.h"

namespace mesh::controller {

/// Proves that principals can work: each logs in with its own credential and asks for its own
/// consumer. An answer, also that there is none, comes through the account's import; 503 means that
/// the import does not work yet. Errors: the first that failed, naming the principal; Unavailable
/// where it was an import (another reload cures it).
[[nodiscard]] Status prove_principals(inventory::State& state, const model::Mesh& mesh,
                                      const std::string& root, const BusLink& link,
                                      std::span<const broker::Principal> principals, Steps& steps);

/// `CONSUMER.INFO` of the principal's own consumer; empty for the controller.
[[nodiscard]] std::string proof_subject(const broker::Principal& principal);

/// The prefix of the principal's inbox.
[[nodiscard]] std::string inbox_of(const broker::Principal& principal);

}  // namespace mesh::controller
