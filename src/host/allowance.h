#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "declaration/component.h"

namespace mesh::host {

/// What the machine allows: its own word, in a file that no declaration can change. Without the
/// file nothing of it is allowed.
struct Allowance {
  bool privileged = false;
  std::vector<std::string> paths;  // of the machine, and what is below them, as volumes
  bool host_network = false;
  std::vector<std::string> devices;
  std::vector<std::string> capabilities;
  bool run = false;  // commands on the machine itself

  /// Reads host.toml. Errors: InvalidArgument with the place (unknown keys, wrong types).
  [[nodiscard]] static Result<Allowance> parse(std::string_view text, const std::string& file);
};

/// Whether a component may run here. Errors: PermissionDenied, naming the key of the component and
/// the one of the file that would allow it.
[[nodiscard]] Status check_allowed(const declaration::Component& component,
                                   const Allowance& allowance);

}  // namespace mesh::host
