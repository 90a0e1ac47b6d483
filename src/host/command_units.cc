#include "host/command_units.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "os/errno_error.h"
#include "os/files.h"
#include "os/process_table.h"

namespace mesh::host {

namespace {

constexpr os::Milliseconds kUnitLockWithin{5'000};
constexpr os::Milliseconds kUnitLockRetry{5};
// Further apart than this the clock was moved since the start.
constexpr std::int64_t kClockMoved = 2'000;

/// Which file it is: a unit that was made anew has another one.
std::string identity_of(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) {
    return {};
  }
  return fmt::format("{} {} {}", info.st_ino, info.st_ctim.tv_sec, info.st_ctim.tv_nsec);
}

/// Writes what was copied to the disk, before the file that says that it is whole.
Status sync_disk(const std::string& directory) {
  const os::Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd.valid() && ::syncfs(fd.get()) == 0 ? Status{} : os::fail_errno(directory, errno);
}

os::WallTime wall_time(std::int64_t milliseconds) {
  return os::WallTime(os::Milliseconds(milliseconds));
}

}  // namespace

Commands::Units::Units(CommandsOptions options, const os::Clock& clock, os::Fd epoll)
    : options_(std::move(options)),
      clock_(clock),
      homes_({options_.homes, options_.users, options_.mesh, options_.node}, clock),
      cgroups_(os::CgroupTree::find()),
      keepers_(std::move(epoll)) {}

Status Commands::Units::prepare() {
  MESH_CHECK(os::make_private_dir(options_.state + "/units"));
  for (const auto& name : directories()) {
    const UnitFiles files(options_.state + "/units/" + name);
    if (!os::exists(files.spec())) {
      MESH_CHECK(os::remove_tree(files.directory()));
    }
  }
  return {};
}

UnitFiles Commands::Units::files(const converge::UnitName& name) const {
  return UnitFiles(fmt::format("{}/units/{}", options_.state, unit_text(name)));
}

std::vector<std::string> Commands::Units::directories() const {
  std::vector<std::string> out;
  std::error_code code;
  const std::filesystem::path units(options_.state + "/units");
  for (auto entry = std::filesystem::directory_iterator(units, code);
       !code && entry != std::filesystem::directory_iterator(); entry.increment(code)) {
    out.push_back(entry->path().filename().string());
  }
  return out;
}

Result<os::Lock> Commands::Units::lock(const UnitFiles& files, const char* verb) const {
  const os::Deadline deadline(kUnitLockWithin);
  while (true) {
    auto taken = os::Lock::take(files.lock(), verb, os::rfc3339(clock_.now()));
    if (taken || taken.error().code != Code::Conflict || deadline.passed() ||
        running_keeper(files)) {
      return taken;
    }
    std::this_thread::sleep_for(kUnitLockRetry);
  }
}

Result<KeptSpec> Commands::Units::spec_of(const converge::UnitName& name) const {
  auto spec = files(name).read_spec();
  const bool ours =
      spec && spec->mesh == options_.mesh && spec->node == options_.node && spec->name == name;
  if ((spec && !ours) || (!spec && spec.error().code == Code::NotFound)) {
    return fail(Code::NotFound, "there is no unit " + unit_text(name));
  }
  return spec;
}

bool Commands::Units::is_ours(const std::string& unit) {
  const auto name = unit_named(unit);
  const auto identity = name ? identity_of(files(*name).spec()) : std::string();
  if (identity.empty()) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  if (const auto known = ours_.find(unit); known != ours_.end() && known->second == identity) {
    return true;
  }
  // Its environment may be long: it is read once.
  if (!spec_of(*name)) {
    return false;
  }
  ours_[unit] = identity;
  return true;
}

Result<std::vector<Found>> Commands::Units::list() {
  keepers_.reap();
  std::vector<Found> out;
  for (const auto& unit : directories()) {
    if (!is_ours(unit)) {
      continue;
    }
    auto found = look(*unit_named(unit));
    if (found) {
      out.push_back(std::move(*found));
    } else if (found.error().code != Code::NotFound) {  // removed meanwhile
      return std::unexpected(std::move(found).error());
    }
  }
  std::ranges::sort(out, {}, &Found::name);
  return out;
}

// The clock of a machine without a battery is wrong until it has reached a server: since when
// something runs is told by the clock that nobody moves.
os::WallTime Commands::Units::started(const KeptRun& run) const {
  static const auto now = os::mark_of(::getpid());  // of this boot
  if (!now || now->boot != run.keeper.boot) {
    return wall_time(run.started);
  }
  const auto wall = clock_.now().time_since_epoch().count();
  const auto since = wall - (since_boot() - run.since_boot);
  return wall_time(std::abs(since - run.started) < kClockMoved ? run.started : since / 1000 * 1000);
}

Result<Found> Commands::Units::look(const converge::UnitName& name) {
  const auto unit = files(name);
  Found found;
  found.address = "127.0.0.1";  // a command listens on the machine itself
  found.name = name;
  found.id = unit_text(name);
  const auto keeper = running_keeper(unit);
  auto run = unit.read_run();
  if (keeper) {
    found.state = converge::UnitState::Running;
    // One that was started a moment ago has not written its own yet.
    if (run && run->keeper.pid == *keeper) {
      found.started = started(*run);
      found.pid = run->pid;
      keepers_.watch(found.id, run->keeper);
    }
    return found;
  }
  keepers_.forget(found.id);
  if (!run && run.error().code == Code::NotFound) {
    return found;
  }
  found.state = converge::UnitState::Exited;
  if (!run) {
    return found;  // damaged: how it ended is not known, and the next start writes it anew
  }
  MESH_CHECK(settle(unit));
  found.started = started(*run);
  if (const auto end = unit.read_end(); end && end->keeper == run->keeper) {
    found.exit_code = end->code;
    found.out_of_memory = end->out_of_memory;
    found.ended = wall_time(end->ended);
  }
  return found;
}

/// Ends what is left of a run whose keeper is gone without a word, and writes down that it was.
Status Commands::Units::settle(const UnitFiles& unit) {
  const auto run = unit.read_run();
  const auto end = unit.read_end();
  if (!run || (end && end->keeper == run->keeper)) {
    return {};
  }
  const auto taken = lock(unit, "settle");
  if (!taken && taken.error().code == Code::Conflict) {
    return {};  // a keeper that was started meanwhile
  }
  if (!taken && taken.error().code != Code::Resource) {
    return std::unexpected(taken.error());
  }
  return clear_away(unit, *run);
}

Status Commands::Units::clear_away(const UnitFiles& unit, const KeptRun& run) {
  os::kill_session_of(run.keeper);  // nothing of another boot
  const auto cgroup = unit.read_cgroup();
  cgroup.kill();
  KeptEnd end;
  end.keeper = run.keeper;
  end.code = 128 + SIGKILL;
  end.killed = true;
  end.out_of_memory = cgroup.out_of_memory() > 0;
  end.ended = clock_.now().time_since_epoch().count();
  // On a full disk it stays unwritten, and is found out again.
  const auto written = unit.write_end(end);
  return written || written.error().code == Code::Resource ? Status{} : written;
}

Status Commands::Units::create(const UnitSpec& spec) {
  const auto unit = files(spec.name);
  if (const auto kept = spec_of(spec.name)) {
    return homes_.restore(*kept);
  }
  // Half made, or its spec is damaged: then it may even run.
  MESH_CHECK(end_unit(unit, os::Milliseconds{0}));
  MESH_CHECK(os::remove_tree(unit.directory()));
  MESH_CHECK(os::make_private_dir(unit.directory()));
  MESH_TRY(const auto kept, homes_.settle(spec));
  MESH_CHECK(sync_disk(options_.homes));
  return unit.write_spec(kept);
}

Status Commands::Units::remove(const converge::UnitName& name) {
  const auto unit = files(name);
  if (!os::exists(unit.directory())) {
    return {};
  }
  if (os::exists(unit.spec()) && !is_ours(unit_text(name))) {
    return fail(Code::Conflict, unit_text(name) + " is another mesh's or node's",
                "give each host a state directory of its own");
  }
  MESH_CHECK(stop(name, os::Milliseconds{0}));
  const auto taken = lock(unit, "remove");
  // On a full disk there is no lock to be had, and no keeper gets one: removing makes room.
  if (!taken && taken.error().code != Code::Resource) {
    return std::unexpected(taken.error());
  }
  MESH_CHECK(unit.read_cgroup().remove());
  const auto all = directories();
  const bool last = std::ranges::none_of(all, [&](const std::string& other) {
    return other.starts_with(name.module + ".") && other != unit_text(name);
  });
  MESH_CHECK(homes_.remove(name, last));
  MESH_CHECK(os::remove_tree(unit.directory()));
  keepers_.forget(unit_text(name));
  const std::lock_guard held(mutex_);
  ours_.erase(unit_text(name));
  return {};
}

}  // namespace mesh::host
