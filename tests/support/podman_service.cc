#include "tests/support/podman_service.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <fstream>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "http/loop.h"
#include "os/fd.h"
#include "os/files.h"
#include "os/programs.h"
#include "tests/support/nats_server.h"

namespace mesh::test {

namespace {

namespace fs = std::filesystem;

constexpr os::Milliseconds kServiceStart{30'000};
constexpr os::Milliseconds kCommand{120'000};
constexpr long kOverlayMagic = 0x794c7630;

std::string bytes_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

/// An overlay cannot be stacked on another one, as it would be within a container.
std::string storage_driver_for(const fs::path& directory) {
  struct statfs found{};
  const bool stacked = ::statfs(directory.c_str(), &found) == 0 && found.f_type == kOverlayMagic;
  return stacked || ::geteuid() != 0 ? "vfs" : "overlay";
}

void write_settings(const fs::path& directory) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  std::ofstream(directory / "containers.conf") << fmt::format(
      "[engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\n"
      "exit_command_delay = 1\n"
      "[containers]\ndefault_ulimits = [\"nofile={0}:{0}\", \"nproc=32768:32768\"]\n"
      "[network]\nnetwork_backend = \"netavark\"\nnetwork_config_dir = \"{1}\"\n",
      files.rlim_max, (directory / "networks").string());
  std::ofstream(directory / "policy.json") << R"({"default":[{"type":"insecureAcceptAnything"}]})";
}

/// A bridge of its own, so that two services do not give out the same addresses.
void write_network(const fs::path& directory) {
  const int pid = static_cast<int>(::getpid());
  const std::string subnet = fmt::format("10.{}.{}", 100 + pid / 250 % 100, pid % 250);
  fs::create_directories(directory / "networks");
  std::ofstream(directory / "networks/podman.json") << fmt::format(
      R"({{"name":"podman","id":"2f259bab93aaaaa2542ba43ef33eb990d0999ee1b9924b557b7be53c0b7a1bb9",)"
      R"("driver":"bridge","network_interface":"mesh{}","created":"2026-01-01T00:00:00Z",)"
      R"("subnets":[{{"subnet":"{}.0/24","gateway":"{}.1"}}],"ipv6_enabled":false,)"
      R"("internal":false,"dns_enabled":false,"ipam_options":{{"driver":"host-local"}}}})",
      pid, subnet, subnet);
}

bool answers(const std::string& socket) {
  const os::SystemClock clock;
  http::Loop loop(clock);
  http::Request request;
  request.url = "http://localhost/version";
  request.unix_socket = socket;
  bool out = false;
  loop.spawn([&] {
    const auto got = loop.fetch(request);
    out = got && got->ok();
  });
  return loop.run().has_value() && out;
}

constexpr const char* kAct = R"(#!/bin/busybox sh
forever() { trap 'exit 0' TERM; while :; do /bin/busybox sleep 1000 & wait $!; done; }
verb=$1
[ $# -eq 0 ] || shift
case $verb in
  exit) exit "$1" ;;
  deaf) trap '' TERM; while :; do /bin/busybox sleep 1000; done ;;
  say)
    trap 'exit 0' TERM
    n=0
    while [ $n -lt "$1" ]; do n=$((n + 1)); echo "line $n"; done
    forever ;;
  show)
    /bin/busybox cat /proc/1/environ >/out/environ
    n=0
    for path; do /bin/busybox cat "$path" >/out/$n; n=$((n + 1)); done ;;
  eat) exec /bin/busybox awk 'BEGIN { s = "0123456789abcdef"; while (1) s = s s }' ;;
  hang) exec /bin/busybox sleep 1000 ;;
  sh) exec /bin/busybox sh -c "$1" ;;
  *) forever ;;
esac
)";

std::vector<std::string> mounts_below(const std::string& folder) {
  std::vector<std::string> out;
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string skipped;
    std::string place;
    fields >> skipped >> skipped >> skipped >> skipped >> place;
    if (place.starts_with(folder + "/")) {
      out.push_back(place);
    }
  }
  return out;
}

bool is_engines(const std::string& program) {
  static const std::array<std::string_view, 5> kPrograms{"podman", "conmon", "runc", "netavark",
                                                         "aardvark-dns"};
  const std::string name = fs::path(program).filename().string();
  return std::ranges::find(kPrograms, name) != kPrograms.end();
}

/// The engine's processes whose arguments name the folder, but for the service.
std::vector<std::pair<pid_t, std::string>> processes_about(const std::string& folder,
                                                           pid_t service) {
  std::vector<std::pair<pid_t, std::string>> out;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    pid_t pid = 0;
    const std::string name = entry.path().filename();
    std::from_chars(name.data(), name.data() + name.size(), pid);
    std::string arguments = pid > 1 ? bytes_of(entry.path() / "cmdline") : "";
    std::ranges::replace(arguments, '\0', ' ');
    if (pid != service && arguments.find(folder) != std::string::npos &&
        is_engines(arguments.substr(0, arguments.find(' ')))) {
      out.emplace_back(pid, arguments);
    }
  }
  return out;
}

}  // namespace

struct PodmanService::State {
  TemporaryDirectory directory;
  std::string driver;
  std::optional<os::Process> process;

  ~State() { end_everything(); }

  [[nodiscard]] std::string folder() const { return directory.path().string(); }

  [[nodiscard]] std::vector<std::string> command() const {
    return {"podman",   "--root",          folder() + "/root", "--runroot", folder() + "/runroot",
            "--tmpdir", folder() + "/tmp", "--storage-driver", driver};
  }

  [[nodiscard]] os::Environment environment() const {
    auto out = os::current_environment();
    out["CONTAINERS_CONF"] = folder() + "/containers.conf";
    out["TMPDIR"] = folder();
    for (const char* name : {"CONTAINER_HOST", "DOCKER_HOST", "CONTAINERS_STORAGE_CONF"}) {
      out.erase(name);
    }
    return out;
  }

  [[nodiscard]] Result<std::string> run(const std::vector<std::string>& arguments) const {
    os::RunOptions options;
    options.spawn.argv = command();
    options.spawn.argv.insert(options.spawn.argv.end(), arguments.begin(), arguments.end());
    options.spawn.environment = environment();
    options.timeout = kCommand;
    MESH_TRY(auto done, os::run(options));
    if (!done.status.ok()) {
      return fail(Code::Unavailable,
                  fmt::format("podman {}: {}", arguments[0], done.err.substr(0, 1000)));
    }
    return std::move(done.out);
  }

  Status serve() {
    const std::string socket = folder() + "/podman.sock";
    fs::remove(socket);
    const os::Fd log(
        ::open((folder() + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    os::SpawnOptions options;
    options.argv = command();
    for (const std::string& one : {std::string("system"), std::string("service"),
                                   std::string("--time=0"), "unix://" + socket}) {
      options.argv.push_back(one);
    }
    options.environment = environment();
    options.out = options.err = os::Output::to_fd(log.get());
    options.parent_death_signal = SIGKILL;
    auto spawned = os::Process::spawn(options);
    if (!spawned) {
      return std::unexpected(std::move(spawned).error());
    }
    process = std::move(*spawned);
    for (const os::Deadline deadline(kServiceStart); !deadline.passed(); ::usleep(5000)) {
      if (process->poll()) {
        return fail(Code::Unavailable, "podman ended: " + bytes_of(folder() + "/log"));
      }
      if (answers(socket)) {
        return {};
      }
    }
    return fail(Code::Timeout, "podman does not answer: " + bytes_of(folder() + "/log"));
  }

  void kill_service() {
    if (process) {
      process->signal(SIGKILL);
      static_cast<void>(process->wait(os::Milliseconds{10'000}));
      process.reset();
    }
  }

  /// What runs in a container does not name the folder: the parent that waits for it does.
  void end_processes() const {
    for (int round = 0; round < 200; ++round) {
      const auto found = processes_about(folder(), 0);
      if (found.empty()) {
        return;
      }
      for (const auto& [pid, arguments] : found) {
        end_children(pid);
        ::kill(pid, SIGKILL);
      }
      ::usleep(10'000);
    }
  }

  static void end_children(pid_t parent) {
    std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", parent));
    for (pid_t child = 0; children >> child;) {
      end_children(child);
      ::kill(child, SIGKILL);
    }
  }

  void unmount() const {
    auto mounts = mounts_below(folder());
    std::ranges::reverse(mounts);
    for (const std::string& place : mounts) {
      ::umount2(place.c_str(), MNT_DETACH);
    }
  }

  /// What a reboot takes along: the runtime's records, and the network namespaces.
  void forget_running() const {
    const auto ids = run({"ps", "--all", "--quiet", "--no-trunc"});
    std::istringstream lines(ids.value_or(""));
    for (std::string id; std::getline(lines, id);) {
      const auto place = run({"inspect", "--format", "{{.NetworkSettings.SandboxKey}}", id});
      if (place && place->starts_with("/")) {
        ::umount2(place->substr(0, place->find('\n')).c_str(), MNT_DETACH);
        ::unlink(place->substr(0, place->find('\n')).c_str());
      }
      os::RunOptions forget;
      forget.spawn.argv = {"runc", "delete", "--force", id};
      static_cast<void>(os::run(forget));
    }
  }

  void end_everything() {
    if (process) {
      static_cast<void>(run({"rm", "--all", "--force", "--time", "0"}));
    }
    kill_service();
    end_processes();
    unmount();
  }
};

PodmanService::PodmanService(std::unique_ptr<State> state) : state_(std::move(state)) {}
PodmanService::PodmanService(PodmanService&&) noexcept = default;
PodmanService& PodmanService::operator=(PodmanService&&) noexcept = default;
PodmanService::~PodmanService() = default;

Result<PodmanService> PodmanService::start() {
  for (const char* program : {"podman", "runc", "conmon"}) {
    if (os::program_on_path(program).empty()) {
      return fail(Code::NotFound, fmt::format("{} is not on this machine", program),
                  fmt::format("install Debian's package {}, or run ./dev test", program));
    }
  }
  auto state = std::make_unique<State>();
  state->driver = storage_driver_for(state->directory.path());
  write_settings(state->directory.path());
  write_network(state->directory.path());
  MESH_CHECK(state->serve());
  return PodmanService(std::move(state));
}

std::string PodmanService::socket() const {
  return state_->folder() + "/podman.sock";
}
const fs::path& PodmanService::directory() const {
  return state_->directory.path();
}
int PodmanService::pid() const {
  return state_->process ? state_->process->pid() : -1;
}
std::string PodmanService::log() const {
  return bytes_of(directory() / "log");
}
std::string PodmanService::storage_driver() const {
  return state_->driver;
}
os::Environment PodmanService::environment() const {
  return state_->environment();
}
std::vector<std::string> PodmanService::command() const {
  return state_->command();
}
Result<std::string> PodmanService::run(const std::vector<std::string>& arguments) const {
  return state_->run(arguments);
}

Status PodmanService::make_test_image(const std::string& name) const {
  const fs::path root = directory() / "image";
  for (const char* folder : {"bin", "tmp", "proc", "out", "owned"}) {
    fs::create_directories(root / folder);
  }
  fs::permissions(root / "tmp", fs::perms::all);
  std::error_code missing;
  fs::copy_file("/bin/busybox", root / "bin/busybox", fs::copy_options::overwrite_existing,
                missing);
  if (missing) {
    return fail(Code::NotFound, "/bin/busybox is not on this machine",
                "install Debian's package busybox-static");
  }
  std::ofstream(root / "bin/act") << kAct;
  fs::permissions(root / "bin/act", fs::perms{0755});
  os::RunOptions pack;
  const std::string tar = (directory() / "image.tar").string();
  pack.spawn.argv = {"tar", "-C", root.string(), "-cf", tar, "."};
  MESH_CHECK(os::run(pack));
  MESH_CHECK(run({"import", "--change", R"(ENTRYPOINT ["/bin/act"])", "--change", "ENV PATH=/bin",
                  tar, name}));
  return {};
}

void PodmanService::kill() {
  state_->kill_service();
}
Status PodmanService::restart() {
  return state_->process ? Status() : state_->serve();
}

Status PodmanService::reboot() {
  state_->kill_service();
  state_->forget_running();
  state_->end_processes();
  state_->unmount();
  fs::remove_all(directory() / "runroot");
  fs::remove_all(directory() / "tmp");
  return state_->serve();
}

std::vector<std::string> PodmanService::remains() const {
  std::vector<std::string> out;
  for (const auto& [pid, arguments] : processes_about(state_->folder(), pid())) {
    out.push_back(fmt::format("{}: {}", pid, arguments));
  }
  for (const std::string& place : mounts_below(state_->folder())) {
    if (place != state_->folder() + "/root/overlay") {
      out.push_back(place);
    }
  }
  return out;
}

}  // namespace mesh::test
