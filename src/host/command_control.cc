#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "host/command_units.h"
#include "os/errno_error.h"
#include "os/files.h"
#include "os/pidfd.h"
#include "os/poll.h"
#include "os/process_table.h"
#include "os/programs.h"

namespace mesh::host {

namespace {

constexpr os::Milliseconds kBeginsWithin{30'000};
constexpr os::Milliseconds kNameWithin{5'000};
constexpr os::Milliseconds kNameTick{5};
// What a keeper needs beyond the grace, to kill, to write and to end.
constexpr os::Milliseconds kKeeperSlack{10'000};
constexpr std::size_t kMostAnswer = 65536;

/// The first line of the keeper, or what came of it until its end or the deadline.
std::string read_answer(const os::Fd& fd) {
  const os::Deadline deadline(kBeginsWithin);
  std::string out;
  std::array<char, 1024> buffer;
  while (out.find('\n') == std::string::npos && out.size() < kMostAnswer &&
         os::wait_readable(fd.get(), deadline.left())) {
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) {
      break;
    }
    out.append(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }
  return out;
}

Status answer_status(const std::string& unit, const std::string& text) {
  if (text.starts_with("ok\n")) {
    return {};
  }
  const auto document = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) {
    return fail(Code::Unavailable, "the keeper of " + unit + " ended before its command began");
  }
  return fail(code_named(document.value("code", "")), document.value("message", ""),
              document.value("hint", ""));
}

/// `mesh-keeper` beside this program, or this program itself.
std::vector<std::string> keeper_program() {
  std::error_code code;
  auto path = std::filesystem::read_symlink("/proc/self/exe", code).string();
  if (auto small = os::dir_name(path) + "/mesh-keeper"; os::is_program(small)) {
    return {small};
  }
  // Replaced by an upgrade while it runs: the new one keeps as well.
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) {
    path.resize(path.size() - kDeleted.size());
  }
  return {path, "keep"};
}

os::Environment keeper_environment() {
  os::Environment out;
  for (const auto& [name, value] : os::current_environment()) {
    if (name == "PATH" || name == "TZ" || name.ends_with("SAN_OPTIONS")) {
      out.emplace(name, value);
    }
  }
  return out;
}

/// The run of the keeper that holds the lock; nothing once none does. A keeper that was started a
/// moment ago is given the time to write it.
Result<std::optional<KeptRun>> run_of_keeper(const UnitFiles& files) {
  const os::Deadline deadline(kNameWithin);
  while (true) {
    const auto keeper = running_keeper(files);
    if (!keeper) {
      return std::optional<KeptRun>();
    }
    if (auto run = files.read_run(); run && run->keeper.pid == *keeper) {
      return std::optional<KeptRun>(std::move(*run));
    }
    if (deadline.passed()) {
      return fail(Code::Timeout, files.directory() + ": its keeper does not say what it runs");
    }
    std::this_thread::sleep_for(kNameTick);
  }
}

}  // namespace

Status Commands::Units::limit(const UnitFiles& unit, const KeptSpec& spec) const {
  auto group = cgroups_.make(
      fmt::format("{}.{}.{}", options_.mesh, options_.node, unit_text(spec.name)), spec.limits);
  if (!group) {
    const bool limited = spec.limits.memory || spec.limits.cpus || spec.limits.pids;
    if (limited) {
      return within("the limits of " + unit_text(spec.name), std::move(group).error());
    }
    return unit.write_cgroup(os::Cgroup());
  }
  return unit.write_cgroup(*group);
}

Status Commands::Units::start(const converge::UnitName& name) {
  keepers_.reap();
  MESH_TRY(const auto spec, spec_of(name));
  const auto unit = files(name);
  if (running_keeper(unit)) {
    return {};
  }
  MESH_CHECK(settle(unit));
  MESH_CHECK(homes_.restore(spec));
  // What is left in a group that was made before would count.
  unit.read_cgroup().kill();
  MESH_CHECK(unit.read_cgroup().remove());
  MESH_CHECK(limit(unit, spec));
  return spawn_keeper(name, unit);
}

Status Commands::Units::spawn_keeper(const converge::UnitName& name, const UnitFiles& unit) {
  os::SpawnOptions options;
  options.argv = options_.keeper.empty() ? keeper_program() : options_.keeper;
  options.argv.push_back(unit.directory());
  options.environment = keeper_environment();
  options.new_session = true;
  options.out = os::Output::pipe();
  options.err = os::Output::discard();
  MESH_TRY(auto keeper, os::Process::spawn(options));
  const auto answer = answer_status(unit_text(name), read_answer(keeper.out()));
  keeper.out().reset();
  if (!answer) {
    // A keeper that cannot say whether its command began is ended; what it began is cleared away.
    keeper.stop(kKeeperSlack);
    MESH_CHECK(settle(unit));
    const bool other = answer.error().code == Code::Conflict && running_keeper(unit);
    return other ? Status{} : answer;
  }
  keepers_.forget(unit_text(name));
  if (const auto run = unit.read_run(); run && run->keeper.pid == keeper.pid()) {
    keepers_.watch(unit_text(name), run->keeper);
  }
  keepers_.adopt(unit_text(name), std::move(keeper));
  return {};
}

Status Commands::Units::end_keeper(const UnitFiles& unit, const KeptRun& run,
                                   os::Milliseconds grace) {
  const auto pidfd = os::open_pidfd(run.keeper.pid);
  const auto now = os::mark_of(run.keeper.pid);  // after the opening: the descriptor is this one
  if (!pidfd.valid() || !now || *now != run.keeper) {
    return {};
  }
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  const auto value = static_cast<int>(std::clamp<std::int64_t>(grace.count(), 0, kMost));
  if (!os::signal_pidfd(pidfd.get(), SIGTERM, value) && errno != ESRCH) {
    return os::fail_errno("cannot stop " + unit.directory(), errno);
  }
  if (!os::wait_readable(pidfd.get(), grace + kKeeperSlack)) {
    // It hangs, or somebody stopped it: all of it goes.
    os::kill_session_of(run.keeper);
    unit.read_cgroup().kill();
    (void)os::wait_readable(pidfd.get(), kKeeperSlack);
  }
  return {};
}

Result<bool> Commands::Units::stop(const converge::UnitName& name, os::Milliseconds grace) {
  if (!is_ours(unit_text(name))) {
    return false;
  }
  return end_unit(files(name), grace);
}

Result<bool> Commands::Units::end_unit(const UnitFiles& unit, os::Milliseconds grace) {
  MESH_TRY(const auto run, run_of_keeper(unit));
  if (run) {
    MESH_CHECK(end_keeper(unit, *run, grace));
  }
  MESH_CHECK(settle(unit));
  keepers_.reap();
  if (running_keeper(unit)) {
    return fail(Code::Timeout, unit.directory() + ": its keeper does not end",
                "look at its process");
  }
  const auto end = unit.read_end();
  return run && end && end->keeper == run->keeper && end->killed;
}

Result<int> Commands::Units::execute(const converge::UnitName& name,
                                     const std::vector<std::string>& command,
                                     os::Milliseconds timeout) {
  MESH_TRY(const auto spec, spec_of(name));
  os::RunOptions options;
  options.spawn.argv = command;
  options.spawn.environment = spec.environment;
  options.spawn.directory = spec.directory;
  options.spawn.identity = spec.identity;
  // This thread waits for it, so the signal comes with the end of this process and no sooner.
  options.spawn.parent_death_signal = SIGKILL;
  options.timeout = timeout;
  options.most_output = 0;
  std::vector<os::Fd> cgroups;
  if (running_keeper(files(name))) {
    MESH_TRY(cgroups, files(name).read_cgroup().join());
  }
  for (const auto& cgroup : cgroups) {
    options.spawn.cgroups.push_back(cgroup.get());
  }
  MESH_TRY(const auto result, os::run(options));
  return result.status.signal != 0 ? 128 + result.status.signal : result.status.code;
}

}  // namespace mesh::host
