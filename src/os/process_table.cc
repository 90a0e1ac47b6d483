#include "os/process_table.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <functional>

#include "base/text.h"
#include "os/files.h"

namespace mesh::os {
namespace {

constexpr std::size_t kMostArguments = 1U << 20U;

/// `act` for each process of /proc.
void for_each_process(const std::function<void(pid_t)>& act) {
  std::error_code code;
  for (auto entry = std::filesystem::directory_iterator("/proc", code);
       !code && entry != std::filesystem::directory_iterator(); entry.increment(code)) {
    const auto name = entry->path().filename().string();
    pid_t pid = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (read.ec == std::errc() && read.ptr == name.data() + name.size()) {
      act(pid);
    }
  }
}

std::vector<std::string> arguments_of(pid_t pid) {
  std::vector<std::string> out;
  if (const auto text = read_file("/proc/" + std::to_string(pid) + "/cmdline", kMostArguments)) {
    for (const auto word : split(*text, '\0')) {
      out.emplace_back(word);
    }
  }
  return out;
}

}  // namespace

std::vector<ProcessMark> processes_with_arguments(std::span<const std::string> words) {
  std::vector<ProcessMark> out;
  for_each_process([&](pid_t pid) {
    const auto arguments = arguments_of(pid);
    if (std::ranges::search(arguments, words).empty()) {
      return;
    }
    if (auto mark = mark_of(pid)) {
      out.push_back(std::move(*mark));
    }
  });
  return out;
}

namespace {

using IdOf = pid_t (*)(pid_t);

/// The running members of a group or session; none where it is another's by now.
std::vector<ProcessMark> members_of(const ProcessMark& leader, IdOf id_of) {
  const auto now = mark_of(leader.pid);
  if (leader.pid <= 1 || (now && *now != leader)) {
    return {};
  }
  std::vector<ProcessMark> members;
  bool ours = true;
  for_each_process([&](pid_t pid) {
    if (id_of(pid) != leader.pid) {
      return;
    }
    if (auto member = mark_of(pid)) {
      ours = ours && member->boot == leader.boot && member->started >= leader.started;
      members.push_back(std::move(*member));
    }
  });
  return ours ? members : std::vector<ProcessMark>{};
}

constexpr Milliseconds kGoneWithin{5'000};

/// Kills them, and waits until they are gone.
int kill_all(const std::vector<ProcessMark>& processes) {
  std::vector<ProcessHandle> killed;
  for (const auto& process : processes) {
    auto handle = ProcessHandle::open(process);
    if (handle && handle->signal(SIGKILL)) {
      killed.push_back(std::move(*handle));
    }
  }
  const Deadline deadline(kGoneWithin);
  for (auto& handle : killed) {
    // Where a driver of the kernel holds it, nobody can do more.
    (void)handle.wait_gone(deadline.left()).has_value();
  }
  return static_cast<int>(killed.size());
}

// What forks while it is being looked for is found in the next round.
constexpr int kRounds = 100;

}  // namespace

int kill_group_of(const ProcessMark& leader) {
  return kill_all(members_of(leader, ::getpgid));
}

int kill_session_of(const ProcessMark& leader) {
  int killed = 0;
  for (int round = 0; round < kRounds; ++round) {
    const int now = kill_all(members_of(leader, ::getsid));
    killed += now;
    if (now == 0) {
      break;
    }
  }
  return killed;
}

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> out;
  for_each_process([&](pid_t other) {
    const auto stat = read_file("/proc/" + std::to_string(other) + "/stat", kMostArguments);
    const auto end = stat ? stat->rfind(") ") : std::string::npos;
    if (end == std::string::npos) {
      return;
    }
    const auto fields = split(std::string_view(*stat).substr(end + 2), ' ');
    if (fields.size() > 1 && fields[1] == std::to_string(pid)) {
      out.push_back(other);
    }
  });
  return out;
}

}  // namespace mesh::os
