#include "registry/server.h"

#include <csignal>
#include <utility>

#include <fmt/format.h>

#include "base/digest.h"
#include "base/text.h"
#include "os/files.h"
#include "os/managed_child.h"
#include "registry/server_config.h"

namespace mesh::registry {
namespace {

constexpr std::size_t kMostSecret = 1024;
constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kLongestWords = 1000;
// It lets requests that are under way end for 10 s (draintimeout).
constexpr os::Milliseconds kRegistryStops{20'000};

/// One text for each state: an upload that was begun before a restart goes on after it.
Result<std::string> server_secret(const ServerPaths& paths, os::Random& random) {
  auto kept = os::read_private_file(paths.secret(), kMostSecret);
  if (kept || kept.error().code != Code::NotFound) {
    return kept;
  }
  std::string secret = hex(random.bytes(kSecretBytes));
  MESH_CHECK(os::write_file_atomic(paths.secret(), secret, os::kPrivateFile));
  return secret;
}

/// Of `… level=fatal msg="listen tcp …: bind: address already in use"` the text, or of
/// `configuration error: …` all, which stands before a page of usage.
std::string last_words_of_registry(std::string_view output) {
  constexpr std::string_view kMessage = "level=fatal msg=\"";
  std::string_view found;
  for (const std::string_view line : split(output, '\n')) {
    const auto at = line.find(kMessage);
    if (at != std::string_view::npos) {
      found = line.substr(at + kMessage.size());
      found = found.substr(0, found.find('"'));
    } else if (line.starts_with("configuration error:") || line.starts_with("panic:")) {
      found = line;
    }
  }
  return printable(found, kLongestWords);
}

/// Nothing of the caller's environment: REGISTRY_… would override the configuration, OTEL_… send
/// traces elsewhere.
os::Environment server_environment() {
  return {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"OTEL_TRACES_EXPORTER", "none"}};
}

os::ManagedOptions managed_options(ManagedRegistryOptions options, const ServerPaths& paths,
                                   const std::string& config) {
  os::ManagedOptions out;
  out.name = "docker-registry";
  out.spawn.argv = {options.program.path, "serve", paths.config()};
  out.spawn.directory = paths.root();
  out.spawn.environment = server_environment();
  out.log = paths.log();
  out.record = paths.record();
  out.start_lock = paths.lock();
  out.host = options.host;
  out.port = options.port;
  out.program = options.program.path;
  out.version = options.program.version.text();
  out.config = fmt::format("{} {}", paths.config(), sha256_hex(config));
  out.id = options.mesh_id;
  out.marks = {"serve", paths.config()};
  // What it finds when it starts again must be what was meant.
  out.prepare = [file = paths.config(), config] {
    return os::write_file_atomic(file, config, os::kPrivateFile);
  };
  out.hello = [host = options.host, port = options.port,
               ca_file = options.ca_file](os::Milliseconds timeout) {
    return registry_hello(host, port, timeout, ca_file);
  };
  out.last_words = last_words_of_registry;
  out.taken_hint = "stop it, or choose another listen in [registry] of mesh.toml";
  out.stop_signal = SIGTERM;
  out.stop_within = kRegistryStops;
  out.ready_within = options.ready_within;
  out.first_pause = options.first_pause;
  out.last_pause = options.last_pause;
  out.say = std::move(options.say);
  return out;
}

}  // namespace

Result<std::unique_ptr<os::ManagedProcess>> start_registry(ManagedRegistryOptions options,
                                                           os::Random& random) {
  const ServerPaths paths(options.directory);
  MESH_CHECK(os::make_private_dir(paths.root()));
  MESH_CHECK(os::make_private_dir(paths.data()));
  const bool v6 = options.host.find(':') != std::string::npos;
  ServerConfig config;
  config.listen = fmt::format(fmt::runtime(v6 ? "[{}]:{}" : "{}:{}"), options.host, options.port);
  config.storage = paths.data();
  config.mesh_id = options.mesh_id;
  MESH_TRY(config.secret, server_secret(paths, random));
  config.certificate = options.certificate;
  config.users = options.certificate.empty() ? "" : paths.users();
  const std::string text = server_config(config);
  MESH_CHECK(os::write_file_atomic(paths.config(), text, os::kPrivateFile));
  return os::ManagedProcess::start(managed_options(std::move(options), paths, text));
}

int end_servers_of(const ServerPaths& paths) {
  const std::vector<std::string> words{"serve", paths.config()};
  return os::end_managed(words, kRegistryStops, SIGTERM);
}

}  // namespace mesh::registry
