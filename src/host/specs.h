#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "converge/units.h"
#include "declaration/declaration.h"
#include "host/driver.h"
#include "host/store.h"

namespace mesh::host {

/// What of this machine decides how its units run.
struct Premises {
  std::string files;     // a directory; each unit's files are in one of its own below it
  std::string checkout;  // where mesh.toml is, where the machine has it; empty: nowhere
  /// The bus as a container on the bridge reaches it, where that differs from the declared URLs.
  std::vector<std::string> bridge_urls;
};

/// A component, ready to be made.
struct ReadyUnit {
  UnitSpec spec;
  std::map<std::string, std::string> files;  // name below UnitSpec::files -> bytes
};

/// A module as it is declared: what to reach, and how each of its units is made.
struct ReadyModule {
  converge::WantedModule wanted;
  std::map<converge::UnitName, ReadyUnit> units;
};

/// Pure. Errors: Corrupt (a value that is named and was not sealed).
[[nodiscard]] Result<ReadyModule> ready_module(const Opened& opened,
                                               const declaration::Module& module,
                                               const Premises& place);

/// Where the files of a unit are.
[[nodiscard]] std::string files_directory(const Premises& place, const converge::UnitName& name);

/// Writes the files of a unit, each as its reader needs it: of a command for nobody else (the
/// driver gives them to the command's user); of a container open, in a place that is closed to
/// others, since a program in it may run as any user. Errors: Resource, PermissionDenied.
[[nodiscard]] Status write_files(const ReadyUnit& unit);

}  // namespace mesh::host
