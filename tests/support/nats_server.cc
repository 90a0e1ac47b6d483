#include "tests/support/nats_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace mesh::test {

namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

sockaddr loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr general{};
  std::memcpy(&general, &address, sizeof(address));
  return general;
}

/// True where a server on `port` says INFO within a second.
bool says_info(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr address = loopback(port);
  std::array<char, 5> said{};
  bool good = fd >= 0 && ::connect(fd, &address, sizeof(address)) == 0;
  pollfd wait{fd, POLLIN, 0};
  good = good && ::poll(&wait, 1, 1000) == 1;
  good = good && ::recv(fd, said.data(), said.size(), MSG_WAITALL) == 5;
  if (fd >= 0) {
    ::close(fd);
  }
  return good && std::string_view(said.data(), said.size()) == "INFO ";
}

std::string with_words(std::string text, const fs::path& directory, int port) {
  const bool listens = text.find("@PORT@") != std::string::npos;
  const auto replace = [&](std::string_view word, const std::string& value) {
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
      text.replace(at, word.size(), value);
      at += value.size();
    }
  };
  replace("@DIR@", directory.string());
  replace("@PORT@", std::to_string(port));
  return listens ? text : fmt::format("listen: \"127.0.0.1:{}\"\n{}", port, text);
}

void write_file(const fs::path& file, std::string_view text) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
}

std::string read_file(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

/// In the child: the program with its log as output. It dies with the thread that started it.
[[noreturn]] void become(const char* program, char* const* arguments, const char* log) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int out = ::open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(out, 1);
  ::dup2(out, 2);
  ::execv(program, arguments);
  ::_exit(127);
}

}  // namespace

std::vector<std::string> server_versions() {
  return {"2.10", "newest"};
}

fs::path server_program(std::string_view version) {
  const char* other = std::getenv("MESH_TEST_TOOLS");
  const auto tools = other == nullptr ? fs::path(MESH_SOURCE_DIR) / "build" / "tools" : other;
  return tools / fmt::format("nats-{}", version) / "nats-server";
}

TemporaryDirectory::TemporaryDirectory() {
  std::string form = (fs::temp_directory_path() / "mesh-test-XXXXXX").string();
  if (::mkdtemp(form.data()) == nullptr) {
    throw std::runtime_error(fmt::format("{}: {}", form, std::strerror(errno)));
  }
  path_ = form;
}

TemporaryDirectory::TemporaryDirectory(TemporaryDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

TemporaryDirectory& TemporaryDirectory::operator=(TemporaryDirectory&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (!path_.empty()) {
    fs::remove_all(path_, ignored);
  }
}

const fs::path& TemporaryDirectory::path() const {
  return path_;
}

int free_port() {
  // Below the ports that connections of others are given on their way out.
  constexpr int kFirst = 18000;
  constexpr int kCount = 14000;
  static std::atomic<unsigned> drawn{std::random_device{}()};
  for (int tried = 0; tried < kCount; ++tried) {
    const int port = kFirst + static_cast<int>(drawn.fetch_add(1) % kCount);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr address = loopback(port);
    const bool free = fd >= 0 && ::bind(fd, &address, sizeof(address)) == 0;
    ::close(fd);
    if (free) {
      return port;
    }
  }
  throw std::runtime_error("no free port");
}

struct NatsServer::State {
  TemporaryDirectory directory;
  fs::path program;
  fs::path config;
  fs::path log;
  int port = 0;
  pid_t pid = -1;
  std::chrono::milliseconds timeout{};

  ~State() { kill(); }

  void kill() {
    if (pid > 0) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
      pid = -1;
    }
  }

  /// Starts the program and waits until it answers. `Unavailable` where it ended.
  Status run() {
    std::array<std::string, 3> words{program.string(), "-c", config.string()};
    std::array<char*, 4> arguments{words[0].data(), words[1].data(), words[2].data(), nullptr};
    const std::string output = log.string();
    pid = ::fork();
    if (pid == 0) {
      become(arguments[0], arguments.data(), output.c_str());
    }
    for (const auto deadline = Clock::now() + timeout; Clock::now() < deadline; ::usleep(3000)) {
      if (::waitpid(pid, nullptr, WNOHANG) == pid) {
        pid = -1;
        return fail(Code::Unavailable, fmt::format("nats-server ended: {}", read_file(log)));
      }
      if (says_info(port)) {
        return {};
      }
    }
    kill();
    return fail(Code::Timeout, fmt::format("nats-server is not ready: {}", read_file(log)));
  }
};

NatsServer::NatsServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
NatsServer::NatsServer(NatsServer&&) noexcept = default;
NatsServer& NatsServer::operator=(NatsServer&&) noexcept = default;
NatsServer::~NatsServer() = default;

Result<NatsServer> NatsServer::start(std::string_view version, std::string_view config,
                                     std::chrono::milliseconds timeout) {
  const fs::path program = server_program(version);
  if (!fs::exists(program)) {
    return fail(Code::NotFound, fmt::format("no nats-server {} at {}", version, program.string()),
                "fetch it with ./dev build");
  }
  Status status = fail(Code::Internal, "not tried");
  for (int attempt = 0; attempt < 5; ++attempt) {
    auto state = std::make_unique<State>();
    state->program = program;
    state->config = state->directory.path() / "nats.conf";
    state->log = state->directory.path() / "nats.log";
    state->port = free_port();
    state->timeout = timeout;
    write_file(state->config,
               with_words(std::string(config), state->directory.path(), state->port));
    status = state->run();
    if (status) {
      return NatsServer(std::move(state));
    }
    // Another process may have taken the port in between.
    if (status.error().message.find("address already in use") == std::string::npos) {
      break;
    }
  }
  return std::unexpected(status.error());
}

int NatsServer::port() const {
  return state_->port;
}
std::string NatsServer::url() const {
  return fmt::format("nats://127.0.0.1:{}", state_->port);
}
int NatsServer::pid() const {
  return state_->pid;
}
const fs::path& NatsServer::directory() const {
  return state_->directory.path();
}
const fs::path& NatsServer::config_file() const {
  return state_->config;
}
std::string NatsServer::log() const {
  return read_file(state_->log);
}

void NatsServer::write_config(std::string_view config) const {
  write_file(state_->config, with_words(std::string(config), directory(), state_->port));
}

Status NatsServer::restart() {
  state_->kill();
  return state_->run();
}

void NatsServer::kill() {
  state_->kill();
}

}  // namespace mesh::test
