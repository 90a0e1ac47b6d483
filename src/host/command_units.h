#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/commands.h"
#include "host/unit_files.h"
#include "host/unit_homes.h"
#include "os/cgroup.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/lock.h"
#include "os/process.h"

namespace mesh::host {

/// The keepers of a node's units, as far as this process must know them: what it waits for, and
/// what it reaps. All else is on disk.
class KeeperWatch {
 public:
  explicit KeeperWatch(os::Fd epoll) : epoll_(std::move(epoll)) {}
  KeeperWatch(const KeeperWatch&) = delete;
  KeeperWatch& operator=(const KeeperWatch&) = delete;
  /// Leaves them all running.
  ~KeeperWatch();

  [[nodiscard]] int descriptor() const { return epoll_.get(); }
  void watch(const std::string& unit, const os::ProcessMark& keeper);
  void forget(const std::string& unit);
  /// A keeper that is our child: it is waited for once it has ended.
  void adopt(const std::string& unit, os::Process keeper);
  void reap();

 private:
  os::Fd epoll_;
  std::mutex mutex_;                             // guards all below
  std::map<std::string, os::Fd> watched_;        // unit -> its keeper's pidfd
  std::map<std::string, os::Process> children_;  // unit -> its keeper
};

class Commands::Units {
 public:
  Units(CommandsOptions options, const os::Clock& clock, os::Fd epoll);
  /// Makes the directories; takes away what was left half made or half removed.
  [[nodiscard]] Status prepare();

  [[nodiscard]] Result<std::vector<Found>> list();
  [[nodiscard]] Status create(const UnitSpec& spec);
  [[nodiscard]] Status start(const converge::UnitName& name);
  [[nodiscard]] Result<bool> stop(const converge::UnitName& name, os::Milliseconds grace);
  [[nodiscard]] Status remove(const converge::UnitName& name);
  [[nodiscard]] Result<int> execute(const converge::UnitName& name,
                                    const std::vector<std::string>& command,
                                    os::Milliseconds timeout);

  [[nodiscard]] UnitFiles files(const converge::UnitName& name) const;
  /// The spec of a unit of this mesh and node. Errors: NotFound, Corrupt, those of the file.
  [[nodiscard]] Result<KeptSpec> spec_of(const converge::UnitName& name) const;
  [[nodiscard]] const KeeperWatch& keepers() const { return keepers_; }
  [[nodiscard]] const UnitHomes& homes() const { return homes_; }
  [[nodiscard]] const os::CgroupTree& cgroups() const { return cgroups_; }

 private:
  [[nodiscard]] std::vector<std::string> directories() const;
  [[nodiscard]] bool is_ours(const std::string& unit);
  [[nodiscard]] Result<Found> look(const converge::UnitName& name);
  [[nodiscard]] Status settle(const UnitFiles& files);
  [[nodiscard]] Status clear_away(const UnitFiles& files, const KeptRun& run);
  [[nodiscard]] Status limit(const UnitFiles& files, const KeptSpec& spec) const;
  [[nodiscard]] Status spawn_keeper(const converge::UnitName& name, const UnitFiles& files);
  [[nodiscard]] Status end_keeper(const UnitFiles& files, const KeptRun& run,
                                  os::Milliseconds grace);
  [[nodiscard]] Result<bool> end_unit(const UnitFiles& files, os::Milliseconds grace);
  [[nodiscard]] Result<os::Lock> lock(const UnitFiles& files, const char* verb) const;
  [[nodiscard]] os::WallTime started(const KeptRun& run) const;

  CommandsOptions options_;
  const os::Clock& clock_;
  UnitHomes homes_;
  os::CgroupTree cgroups_;
  KeeperWatch keepers_;
  std::mutex mutex_;                         // guards the one below
  std::map<std::string, std::string> ours_;  // unit -> the identity of its spec's file
};

}  // namespace mesh::host
