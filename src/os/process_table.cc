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

int kill_group_of(const ProcessMark& leader) {
  const auto now = mark_of(leader.pid);
  if (leader.pid <= 1 || (now && *now != leader)) {
    return 0;
  }
  std::vector<ProcessMark> members;
  bool ours = true;
  for_each_process([&](pid_t pid) {
    if (::getpgid(pid) != leader.pid) {
      return;
    }
    if (auto member = mark_of(pid)) {
      ours = ours && member->boot == leader.boot && member->started >= leader.started;
      members.push_back(std::move(*member));
    }
  });
  int killed = 0;
  for (const auto& member : ours ? members : std::vector<ProcessMark>{}) {
    auto handle = ProcessHandle::open(member);
    killed += handle && handle->signal(SIGKILL) ? 1 : 0;
  }
  return killed;
}

}  // namespace mesh::os
