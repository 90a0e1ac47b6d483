#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "broker/config_view.h"
#include "broker/principals.h"
#include "model/problem.h"

namespace mesh::broker {

/// Proves from the composed text alone that it gives each principal its grants and nothing more:
/// - every principal is a user of its own account with exactly its grants; no other user but
///   `controller.system` in SYS; no empty or missing list;
/// - every import of an account is exactly what one of its users is granted and needs it for, or
///   `mesh.void` as `$JS.API.INFO`; whatever a user needs from another account is imported;
/// - MESH exports its known few, account_token_position included; a module its tools and its
/// events;
///   nobody imports from TOOLS or SYS; nothing imports a wildcard of the JetStream API;
/// - nothing stands in the file that is not known here: no leaf nodes, MQTT, websocket, monitoring,
///   gateways, mappings, includes, defaults.
/// Returns what does not hold, by line; empty: it holds. A text that is no configuration is one
/// problem. `name` is the file's name in the problems' places.
[[nodiscard]] std::vector<model::Problem> verify(std::string_view text,
                                                 std::span<const Principal> principals,
                                                 const std::string& name = {});

/// The same of a text that was read already.
[[nodiscard]] std::vector<model::Problem> verify(const ConfigView& view,
                                                 std::span<const Principal> principals,
                                                 const std::string& name = {});

}  // namespace mesh::broker
