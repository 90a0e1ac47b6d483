#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/place.h"
#include "model/declarations.h"

namespace mesh::broker {

/// One subject that a principal may publish or subscribe, and the declaration it follows from.
struct Grant {
  std::string subject;
  Because because;
};

enum class Kind { Controller, Node, Module };

/// Whoever may connect to the bus. Grants are sorted by subject, each subject once.
struct Principal {
  std::string name;  // `controller`, `one`, `one.telegram`; also the user's name
  Kind kind = Kind::Module;
  std::optional<std::string> node;
  std::optional<std::string> module;
  std::string account;
  std::vector<Grant> publish;
  std::vector<Grant> subscribe;
  bool allow_responses = false;  // max 1, ttl 1m
};

inline constexpr int kMostResponses = 1;
inline constexpr const char* kResponseTtl = "1m";

/// Every principal of the mesh, sorted by name: `controller`, `controller.tools`, the nodes and the
/// instances. (The system account's user is no principal of the mesh; see compose.h.)
[[nodiscard]] std::vector<Principal> principals(const model::Mesh& mesh);

}  // namespace mesh::broker
