#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "base/text.h"
#include "os/cgroup.h"
#include "os/files.h"

namespace mesh::os {
namespace {

constexpr std::array<const char*, 3> kControllers = {"cpu", "memory", "pids"};
constexpr const char* kOurs = "/mesh";
constexpr std::size_t kMostProcFile = 4U << 20U;

struct CgroupMount {
  std::string point;
  std::string root;  // the part of the hierarchy that is seen there
  bool v2 = false;
  std::vector<std::string> controllers;  // v1
};

/// The hierarchies that are mounted: proc(5), /proc/PID/mountinfo.
std::vector<CgroupMount> cgroup_mounts(std::string_view mountinfo) {
  std::vector<CgroupMount> out;
  for (const auto line : split(mountinfo, '\n')) {
    const auto dash = line.find(" - ");
    if (dash == std::string_view::npos) {
      continue;
    }
    const auto before = split(line.substr(0, dash), ' ');
    const auto after = split(line.substr(dash + 3), ' ');
    if (before.size() < 5 || after.size() < 3 || !after[0].starts_with("cgroup")) {
      continue;
    }
    CgroupMount mount{std::string(before[4]), std::string(before[3]), after[0] == "cgroup2", {}};
    for (const auto option : split(after[2], ',')) {
      mount.controllers.emplace_back(option);
    }
    out.push_back(std::move(mount));
  }
  return out;
}

/// The path of the process in the hierarchy of `controller` (empty: v2), as seen at the mount.
std::string own_path(std::string_view membership, std::string_view controller,
                     const CgroupMount& mount) {
  for (const auto line : split(membership, '\n')) {
    const auto first = line.find(':');
    const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) {
      continue;
    }
    const auto names = split(line.substr(first + 1, second - first - 1), ',');
    if (std::ranges::find(names, controller) == names.end()) {
      continue;
    }
    auto path = line.substr(second + 1);
    if (mount.root != "/" && path.starts_with(mount.root)) {
      path.remove_prefix(mount.root.size());
    }
    return mount.point + (path == "/" ? std::string() : std::string(path));
  }
  return mount.point;
}

bool can_write(const std::string& directory) {
  return ::access((directory + "/cgroup.procs").c_str(), W_OK) == 0 &&
         ::access(directory.c_str(), W_OK) == 0;
}

/// Whether ours may be made there, by making it.
bool make_ours(const std::string& directory) {
  return ::mkdir(directory.c_str(), 0755) == 0 || (errno == EEXIST && can_write(directory));
}

void enable(const std::string& directory) {
  for (const auto* controller : kControllers) {
    const auto file = directory + "/cgroup.subtree_control";
    if (FILE* stream = ::fopen(file.c_str(), "we")) {
      // Refused where the controller is not there: that is seen afterwards.
      (void)::fprintf(stream, "+%s", controller);
      (void)::fclose(stream);
    }
  }
}

/// v2: a group with processes of its own has none below it that are limited, so ours is made below
/// the highest directory that is this user's.
std::string v2_parent(const CgroupMount& mount, const std::string& own) {
  std::string best;
  for (auto at = own; at.size() >= mount.point.size(); at = dir_name(at)) {
    if (!can_write(at)) {
      break;
    }
    best = at;
  }
  return best;
}

}  // namespace

Status CgroupTree::prepare_v2() const {
  MESH_CHECK(make_dirs(v2_));
  enable(v2_);
  return {};
}

CgroupTree CgroupTree::find() {
  const auto mountinfo = read_file("/proc/self/mountinfo", kMostProcFile);
  const auto membership = read_file("/proc/self/cgroup", kMostProcFile);
  return mountinfo && membership ? find(*mountinfo, *membership) : CgroupTree();
}

CgroupTree CgroupTree::find(std::string_view mountinfo, std::string_view membership) {
  CgroupTree tree;
  for (const auto& mount : cgroup_mounts(mountinfo)) {
    if (mount.v2) {
      const auto parent = v2_parent(mount, own_path(membership, "", mount));
      if (parent.empty() || !make_ours(parent + kOurs)) {
        continue;
      }
      enable(parent);
      enable(parent + kOurs);
      tree.v2_ = parent + kOurs;
      const auto enabled = read_file(tree.v2_ + "/cgroup.subtree_control", kMostProcFile);
      std::string names = enabled.value_or("");
      std::ranges::replace(names, '\n', ' ');
      for (const auto name : split(names, ' ')) {
        tree.v2_controllers_[std::string(name)] = true;
      }
      ::rmdir(tree.v2_.c_str());  // it was a try; refused where somebody uses it
      continue;
    }
    for (const auto* controller : kControllers) {
      if (std::ranges::find(mount.controllers, controller) == mount.controllers.end()) {
        continue;
      }
      const auto ours = own_path(membership, controller, mount) + kOurs;
      if (make_ours(ours)) {
        ::rmdir(ours.c_str());
        tree.v1_[controller] = ours;
      }
    }
  }
  return tree;
}

}  // namespace mesh::os
