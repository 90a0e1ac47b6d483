#pragma once

#include <string>

#include "base/result.h"
#include "host/driver.h"
#include "host/unit_files.h"
#include "os/clock.h"

namespace mesh::host {

/// Where the commands of this node live. `<homes>/<module>/` is root's and lets the module's user
/// through and nobody else; in it are `home`, the module's own and kept from one generation to the
/// next, and for each unit a copy of the module's folder and of its files, so that a former
/// generation is put back with exactly what it had. Not as root there is `home` alone, and a
/// command runs in its module's folder where one is at hand.
class UnitHomes {
 public:
  struct Options {
    std::string homes;
    std::string users;
    std::string mesh;
    std::string node;
  };
  UnitHomes(Options options, const os::Clock& clock);

  /// How `spec` runs; its places are made anew. Beside the variables of the spec it is given PATH
  /// (this process's) and HOME (`home`; not as root this process's), each where the spec has none,
  /// and as root the variables MESH_… that name one of its files name the copy. Errors:
  /// PermissionDenied (a directory above the homes is closed to other users), those of the files.
  [[nodiscard]] Result<KeptSpec> settle(const UnitSpec& spec) const;
  /// Makes what is missing of its places (they may lie where a reboot clears them).
  [[nodiscard]] Status restore(const KeptSpec& spec) const;
  /// Takes away what is the unit's; `last`: and what is its module's.
  [[nodiscard]] Status remove(const converge::UnitName& name, bool last) const;

  [[nodiscard]] bool separate() const { return separate_; }

 private:
  struct Places;
  [[nodiscard]] Places places(const converge::UnitName& name) const;
  [[nodiscard]] Status make_home(const Places& places, const os::Identity* user) const;
  [[nodiscard]] Status copy(const KeptSpec& spec, bool anew) const;

  Options options_;
  const os::Clock& clock_;
  bool separate_;
};

}  // namespace mesh::host
