#include "tests/support/registry_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "os/process.h"
#include "tests/support/scripted_http.h"

namespace mesh::test {

namespace {

namespace fs = std::filesystem;

constexpr os::Milliseconds kStart{20'000};

/// That of this checkout (./dev test fetches it), or the system's.
std::string registry_program() {
  const auto ours = fs::path(MESH_SOURCE_DIR) / "build" / "tools" / "docker-registry";
  return fs::exists(ours) ? ours.string() : "docker-registry";
}

std::string configuration(const fs::path& directory, int port,
                          const RegistryProcess::Options& options) {
  std::string text = fmt::format(
      "version: 0.1\n"
      "log: {{level: error, accesslog: {{disabled: false}}}}\n"
      "storage:\n"
      "  filesystem: {{rootdirectory: {}/data}}\n"
      "  delete: {{enabled: true}}\n"
      "http: {{addr: '127.0.0.1:{}'}}\n",
      directory.string(), port);
  if (!options.htpasswd.empty()) {
    text +=
        fmt::format("auth: {{htpasswd: {{realm: mesh, path: {}/htpasswd}}}}\n", directory.string());
  }
  return text + options.more;
}

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace

struct RegistryProcess::State {
  TemporaryDirectory directory;
  int port = 0;
  std::optional<os::Process> process;
  std::size_t seen = 0;
  int marks = 0;

  /// The log is written after the answer: a question of our own comes after all before it.
  void wait_for_log() {
    const std::string mark = fmt::format("/v2/mark-{}/manifests/x", ++marks);
    static_cast<void>(http_status(port, mark));
    const os::Deadline deadline(kStart);
    while (!deadline.passed() &&
           text_of(directory.path() / "log").find(mark) == std::string::npos) {
      ::usleep(2000);
    }
  }

  Status run() {
    const int log =
        ::open((directory.path() / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    os::Fd out(log);
    os::SpawnOptions options;
    options.argv = {registry_program(), "serve", (directory.path() / "config.yml").string()};
    options.out = os::Output::to_fd(log);
    options.err = os::Output::to_fd(log);
    options.parent_death_signal = SIGKILL;
    auto spawned = os::Process::spawn(options);
    if (!spawned) {
      return within("docker-registry (Debian's package of that name)", std::move(spawned).error());
    }
    process = std::move(*spawned);
    const os::Deadline deadline(kStart);
    while (!deadline.passed()) {
      if (process->poll()) {
        return fail(Code::Unavailable,
                    "docker-registry ended: " + text_of(directory.path() / "log"));
      }
      if (http_status(port, "/v2/") != 0) {
        return {};
      }
      ::usleep(5000);
    }
    return fail(Code::Timeout, "docker-registry does not answer");
  }
};

RegistryProcess::RegistryProcess(std::unique_ptr<State> state) : state_(std::move(state)) {}
RegistryProcess::RegistryProcess(RegistryProcess&&) noexcept = default;
RegistryProcess& RegistryProcess::operator=(RegistryProcess&&) noexcept = default;
RegistryProcess::~RegistryProcess() = default;

Result<RegistryProcess> RegistryProcess::start() {
  return start({});
}

Result<RegistryProcess> RegistryProcess::start(const Options& options) {
  Status status;
  for (int attempt = 0; attempt < 5; ++attempt) {
    auto state = std::make_unique<State>();
    state->port = free_port();
    const fs::path& directory = state->directory.path();
    std::ofstream(directory / "config.yml") << configuration(directory, state->port, options);
    std::ofstream(directory / "htpasswd") << options.htpasswd << "\n";
    status = state->run();
    if (status) {
      return RegistryProcess(std::move(state));
    }
    // Another process may have taken the port in between.
    if (status.error().message.find("address already in use") == std::string::npos) {
      break;
    }
  }
  return std::unexpected(status.error());
}

int RegistryProcess::port() const {
  return state_->port;
}
std::string RegistryProcess::address() const {
  return fmt::format("127.0.0.1:{}", state_->port);
}
int RegistryProcess::pid() const {
  return state_->process->pid();
}
fs::path RegistryProcess::storage() const {
  return state_->directory.path() / "data";
}

fs::path RegistryProcess::data_file(std::string_view digest) const {
  const auto colon = digest.find(':');
  const std::string hex(digest.substr(colon + 1));
  return storage() / "docker/registry/v2/blobs" / digest.substr(0, colon) / hex.substr(0, 2) / hex /
         "data";
}

std::vector<std::string> RegistryProcess::requests() const {
  if (state_->process && !state_->process->poll()) {
    state_->wait_for_log();
  }
  // 127.0.0.1 - - [30/Nov/2026:21:28:04 +0000] "GET /v2/… HTTP/1.1" 200 2 "" "…"
  std::vector<std::string> out;
  std::istringstream log(text_of(state_->directory.path() / "log"));
  for (std::string line; std::getline(log, line);) {
    const auto open = line.find("] \"");
    const auto close = line.find(" HTTP/1.1\"");
    if (open == std::string::npos || close == std::string::npos || close < open) {
      continue;
    }
    std::string request = line.substr(open + 3, close - open - 3);
    if (request != "GET /v2/" && request.find(" /v2/mark-") == std::string::npos) {
      out.push_back(std::move(request));
    }
  }
  return out;
}

std::vector<std::string> RegistryProcess::new_requests() {
  auto all = requests();
  const std::size_t from = std::exchange(state_->seen, all.size());
  return {all.begin() + static_cast<std::ptrdiff_t>(from), all.end()};
}

void RegistryProcess::kill() {
  state_->process.reset();
}

Status RegistryProcess::restart() {
  kill();
  return state_->run();
}

}  // namespace mesh::test
