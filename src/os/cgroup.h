#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace mesh::os {

/// What a group of processes may use; what is not set is not limited.
struct ResourceLimits {
  std::optional<std::int64_t> memory;  // bytes, swap included
  std::optional<double> cpus;
  std::optional<int> pids;
};

/// The directories of one group: one where the machine has cgroup v2, one for each controller with
/// v1, both with a hybrid. Only what can be made is there. The list is all there is to know, so it
/// can be kept in a file.
class Cgroup {
 public:
  Cgroup() = default;
  explicit Cgroup(std::vector<std::string> directories) : directories_(std::move(directories)) {}
  [[nodiscard]] const std::vector<std::string>& directories() const { return directories_; }

  /// Open `cgroup.procs` files for SpawnOptions::cgroups. Errors: NotFound (it is gone),
  /// PermissionDenied.
  [[nodiscard]] Result<std::vector<Fd>> join() const;
  /// How often the kernel ended a process of it for want of memory.
  [[nodiscard]] std::int64_t out_of_memory() const;
  /// Kills every process in it and waits until it is empty; false where it is not after `5 s`.
  bool kill() const;
  /// Removes the empty directories, and the one above that was made for all, where it was the last.
  /// Errors: Conflict (something still runs in it).
  [[nodiscard]] Status remove() const;

 private:
  std::vector<std::string> directories_;
};

/// Where this process may make groups: below its own, or the highest above it that is its own, so
/// that what bounds this process bounds them too wherever the kernel allows that. Which controllers
/// work there is found by looking, once.
class CgroupTree {
 public:
  /// `mountinfo` and `membership` are /proc/self/mountinfo and /proc/self/cgroup.
  [[nodiscard]] static CgroupTree find();
  [[nodiscard]] static CgroupTree find(std::string_view mountinfo, std::string_view membership);

  /// Makes the group `mesh/<name>` with its limits, as far as the machine can hold them; one that
  /// is there is limited anew. Errors: those of the files.
  [[nodiscard]] Result<Cgroup> make(const std::string& name, const ResourceLimits& limits) const;

  /// Why `memory`, `cpu` or `pids` is not held to here; empty where it is.
  [[nodiscard]] std::string missing(const std::string& controller) const;

 private:
  [[nodiscard]] Status prepare_v2() const;
  [[nodiscard]] Result<Cgroup> try_make(const std::string& name,
                                        const ResourceLimits& limits) const;
  std::map<std::string, std::string> v1_;  // controller -> directory to make groups in
  std::string v2_;                         // empty: none
  std::map<std::string, bool> v2_controllers_;
};

}  // namespace mesh::os
