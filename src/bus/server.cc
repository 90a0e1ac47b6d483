#include "bus/server.h"

#include <csignal>
#include <utility>
#include <vector>

#include "base/text.h"
#include "bus/server_hello.h"
#include "os/managed_child.h"
#include "os/managed_process.h"

namespace mesh::bus {

namespace {

constexpr std::size_t kLongest = 1000;
constexpr std::string_view kFatal = "[FTL] ";

/// `[1234] 2026/08/21 09:30:00.000000 [FTL] text` → `text`.
std::string_view without_time(std::string_view line) {
  for (const std::string_view level : {kFatal, std::string_view("[ERR] "),
                                       std::string_view("[WRN] "), std::string_view("[INF] ")}) {
    const std::size_t at = line.find(level);
    if (at != std::string_view::npos) {
      return line.substr(at + level.size());
    }
  }
  return line;
}

/// The fatal line without the time, or the last one; one line, fit for a terminal.
std::string last_words_of_server(std::string_view output) {
  std::string_view last;
  std::string_view fatal;
  for (const std::string_view line : split(output, '\n')) {
    last = line.empty() ? last : line;
    fatal = line.find(kFatal) == std::string_view::npos ? fatal : line;
  }
  return printable(without_time(fatal.empty() ? last : fatal), kLongest);
}

os::ManagedOptions managed(ManagedServerOptions options) {
  os::ManagedOptions out;
  out.name = "nats-server";
  out.spawn.argv = {options.program.path.string(), "-c", options.config.string()};
  out.spawn.directory = options.directory.string();
  out.log = options.log.string();
  out.record = options.record.string();
  out.host = options.host;
  out.port = options.port;
  out.program = options.program.path.string();
  out.version = options.program.version.text();
  out.config = options.config.string();
  out.marks = {"-c", options.config.string()};
  out.prepare = std::move(options.prepare);
  out.hello = [host = options.host, port = options.port](os::Milliseconds timeout) {
    return read_hello(host, port, timeout);
  };
  out.last_words = last_words_of_server;
  out.taken_hint = "stop it, or choose another listen in [bus] of mesh.toml";
  out.log_limit = options.log_limit;
  out.ready_within = options.ready_within;
  out.stop_within = options.stop_within;
  out.first_pause = options.first_pause;
  out.last_pause = options.last_pause;
  out.say = std::move(options.say);
  return out;
}

}  // namespace

int end_servers_of(const std::filesystem::path& config, std::chrono::milliseconds stop_within) {
  const std::vector<std::string> words{"-c", config.string()};
  return os::end_managed(words, stop_within, SIGINT);
}

ManagedServer::ManagedServer(std::unique_ptr<os::ManagedProcess> process)
    : process_(std::move(process)) {}
ManagedServer::~ManagedServer() = default;

Result<std::unique_ptr<ManagedServer>> ManagedServer::start(ManagedServerOptions options) {
  MESH_TRY(auto process, os::ManagedProcess::start(managed(std::move(options))));
  return std::unique_ptr<ManagedServer>(new ManagedServer(std::move(process)));
}

Status ManagedServer::stop() {
  return process_->stop();
}
ServerRecord ManagedServer::record() const {
  return process_->record();
}
int ManagedServer::restarts() const {
  return process_->restarts();
}

}  // namespace mesh::bus
