#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/driver.h"
#include "os/clock.h"

namespace mesh::host {

struct CommandsOptions {
  std::string state;  // the host's directory; the units are in `units` below it
  std::string mesh;   // the mesh's id
  std::string node;
  /// As root, where the modules' own directories are: every directory above must let other users
  /// through (the state need not). Empty: `homes` in the state.
  std::string homes;
  /// As root, where the table of uids is that all meshes of this machine share. It outlives a
  /// reboot, as what belongs to those uids does.
  std::string users = "/var/lib/mesh";
  /// The program that keeps one unit, before the unit's directory. Empty: `mesh-keeper`
  /// beside this program, or this program with the verb `keep`.
  std::vector<std::string> keeper;
};

/// The driver of components that are commands. Each unit is kept by a small process of its own
/// (keeper.h), so that it outlives this one; what is known of it is in its directory, and whether
/// it runs is the kernel's word (a lock that its keeper holds). As root each module has a uid of
/// its own. No image, no volume: those members answer Unsupported, or nothing.
class Commands : public Driver {
 public:
  /// `clock` is borrowed. Errors: those of the directories.
  [[nodiscard]] static Result<std::unique_ptr<Commands>> open(CommandsOptions options,
                                                              const os::Clock& clock);
  ~Commands() override;

  [[nodiscard]] Result<std::vector<Found>> list() override;
  [[nodiscard]] Status create(const UnitSpec& spec) override;
  [[nodiscard]] Status start(const converge::UnitName& name) override;
  [[nodiscard]] Result<bool> stop(const converge::UnitName& name, os::Milliseconds grace) override;
  [[nodiscard]] Status remove(const converge::UnitName& name) override;
  [[nodiscard]] Result<bool> has_image(const std::string& reference) override;
  [[nodiscard]] Status pull(const std::string& reference, const PullAccess& access) override;
  [[nodiscard]] Result<LogPiece> logs(const converge::UnitName& name, const LogCursor& cursor,
                                      std::size_t most) override;
  [[nodiscard]] Result<int> execute(const converge::UnitName& name,
                                    const std::vector<std::string>& command,
                                    os::Milliseconds timeout) override;
  [[nodiscard]] Result<std::vector<std::string>> volumes() override;
  [[nodiscard]] Status remove_volume(const std::string& name) override;
  /// Readable when the keeper of a unit that the last `list` or `start` saw running has ended.
  [[nodiscard]] int changes() const override;
  [[nodiscard]] std::string about() override { return "commands"; }

  /// The limits of the component that this machine cannot hold it to, each with the reason:
  /// `memory: no memory cgroup that this user may make`. For reports and `mesh explain`.
  [[nodiscard]] std::vector<std::string> not_held(const declaration::Component& component) const;
  /// True where each module has a user of its own.
  [[nodiscard]] bool separate() const;

 private:
  class Units;
  explicit Commands(std::unique_ptr<Units> units);
  std::unique_ptr<Units> units_;
};

}  // namespace mesh::host
