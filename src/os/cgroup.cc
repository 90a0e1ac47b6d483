#include "os/cgroup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <thread>

#include "base/text.h"
#include "os/clock.h"
#include "os/errno_error.h"
#include "os/files.h"

namespace mesh::os {
namespace {

constexpr std::size_t kMostFile = 4U << 20U;
constexpr Milliseconds kEmptyWithin{5'000};
constexpr Milliseconds kBetweenLooks{2};

// The files of the kernel are written in one call and never made.
Status put(const std::string& path, std::string_view value) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid() ||
      ::write(fd.get(), value.data(), value.size()) != static_cast<ssize_t>(value.size())) {
    return fail_errno(path, errno);
  }
  return {};
}

std::vector<pid_t> members(const std::string& directory) {
  std::vector<pid_t> out;
  const auto text = read_file(directory + "/cgroup.procs", kMostFile);
  for (const auto line : split(text ? std::string_view(*text) : std::string_view(), '\n')) {
    pid_t pid = 0;
    if (std::from_chars(line.data(), line.data() + line.size(), pid).ec == std::errc() && pid > 0) {
      out.push_back(pid);
    }
  }
  return out;
}

std::int64_t counter(const std::string& file, std::string_view name) {
  const auto text = read_file(file, kMostFile);
  for (const auto line : split(text ? std::string_view(*text) : std::string_view(), '\n')) {
    std::int64_t value = 0;
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ' ' &&
        std::from_chars(line.data() + name.size() + 1, line.data() + line.size(), value).ec ==
            std::errc()) {
      return value;
    }
  }
  return 0;
}

void kill_members(const std::string& directory) {
  if (put(directory + "/cgroup.kill", "1")) {
    return;
  }
  for (const auto pid : members(directory)) {
    ::kill(pid, SIGKILL);
  }
}

constexpr std::int64_t kPeriod = 100'000;  // microseconds

std::int64_t quota(double cpus) {
  constexpr std::int64_t kLeast = 1'000;  // as the kernel wants
  return std::max(static_cast<std::int64_t>(cpus * static_cast<double>(kPeriod)), kLeast);
}

Status limit_v2(const std::string& directory, const ResourceLimits& limits) {
  if (exists(directory + "/memory.max")) {
    const auto value = limits.memory ? std::to_string(*limits.memory) : "max";
    MESH_CHECK(put(directory + "/memory.max", value));
    // Without swap the limit is a limit; a kernel without swap has no such file.
    (void)put(directory + "/memory.swap.max", limits.memory ? "0" : "max").has_value();
  }
  if (exists(directory + "/cpu.max")) {
    const auto value = limits.cpus ? std::to_string(quota(*limits.cpus)) : "max";
    MESH_CHECK(put(directory + "/cpu.max", fmt::format("{} {}", value, kPeriod)));
  }
  if (exists(directory + "/pids.max")) {
    MESH_CHECK(put(directory + "/pids.max", limits.pids ? std::to_string(*limits.pids) : "max"));
  }
  return {};
}

Status limit_v1(const std::string& directory, const std::string& controller,
                const ResourceLimits& limits) {
  if (controller == "memory") {
    const auto value = std::to_string(limits.memory.value_or(-1));
    // With swap the limit is one over both, which must not be below the first: whichever way it
    // moves, one of the two orders is right.
    const auto both = directory + "/memory.memsw.limit_in_bytes";
    (void)put(both, value).has_value();
    MESH_CHECK(put(directory + "/memory.limit_in_bytes", value));
    (void)put(both, value).has_value();
    return {};
  }
  if (controller == "cpu") {
    MESH_CHECK(put(directory + "/cpu.cfs_period_us", std::to_string(kPeriod)));
    return put(directory + "/cpu.cfs_quota_us",
               std::to_string(limits.cpus ? quota(*limits.cpus) : -1));
  }
  return put(directory + "/pids.max", limits.pids ? std::to_string(*limits.pids) : "max");
}

}  // namespace

Result<std::vector<Fd>> Cgroup::join() const {
  std::vector<Fd> out;
  for (const auto& directory : directories_) {
    Fd fd(::open((directory + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd.valid()) {
      return fail_errno(directory, errno);
    }
    out.push_back(std::move(fd));
  }
  return out;
}

std::int64_t Cgroup::out_of_memory() const {
  std::int64_t most = 0;
  for (const auto& directory : directories_) {
    for (const auto* file : {"/memory.events", "/memory.oom_control"}) {
      most = std::max(most, counter(directory + file, "oom_kill"));
    }
  }
  return most;
}

bool Cgroup::kill() const {
  const Deadline deadline(kEmptyWithin);
  for (const auto& directory : directories_) {
    while (!members(directory).empty()) {
      if (deadline.passed()) {
        return false;
      }
      kill_members(directory);
      std::this_thread::sleep_for(kBetweenLooks);
    }
  }
  return true;
}

Status Cgroup::remove() const {
  for (const auto& directory : directories_) {
    if (::rmdir(directory.c_str()) != 0 && errno != ENOENT) {
      return fail_errno(directory, errno);
    }
    ::rmdir(dir_name(directory).c_str());  // refused while others are in it
  }
  return {};
}

Result<Cgroup> CgroupTree::make(const std::string& name, const ResourceLimits& limits) const {
  // Who removes the last group takes the directory of all with it, and may do so just now.
  constexpr int kTries = 5;
  auto made = try_make(name, limits);
  for (int i = 1; i < kTries && !made && made.error().code == Code::NotFound; ++i) {
    made = try_make(name, limits);
  }
  return made;
}

Result<Cgroup> CgroupTree::try_make(const std::string& name, const ResourceLimits& limits) const {
  std::vector<std::string> directories;
  if (!v2_.empty()) {
    directories.push_back(v2_ + "/" + name);
    MESH_CHECK(prepare_v2());
    MESH_CHECK(make_dirs(directories.back()));
    MESH_CHECK(limit_v2(directories.back(), limits));
  }
  for (const auto& [controller, parent] : v1_) {
    directories.push_back(parent + "/" + name);
    MESH_CHECK(make_dirs(directories.back()));
    MESH_CHECK(limit_v1(directories.back(), controller, limits));
  }
  return Cgroup(std::move(directories));
}

std::string CgroupTree::missing(const std::string& controller) const {
  const auto found = v2_controllers_.find(controller);
  if (v1_.contains(controller) || (found != v2_controllers_.end() && found->second)) {
    return {};
  }
  return fmt::format("no {} cgroup that this user may make here", controller);
}

}  // namespace mesh::os
