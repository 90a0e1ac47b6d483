#include "controller/controller.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bus/server_program.h"
#include "controller/build_leftovers.h"
#include "controller/bus_config.h"
#include "controller/bus_file.h"
#include "controller/credentials.h"
#include "controller/heal.h"
#include "controller/node_keeper.h"
#include "controller/recorded.h"
#include "controller/registry_keeper.h"
#include "controller/tls.h"
#include "os/files.h"

namespace mesh::controller {

namespace {

constexpr std::chrono::milliseconds kProve{120'000};
constexpr std::size_t kLargestRecord = 65536;

std::string record_file(const inventory::StatePaths& paths) {
  return paths.run() + "/controller.json";
}

/// Where the server listens, as something that can be dialled from this machine.
Result<std::pair<std::string, int>> host_and_port(const std::string& listen) {
  const auto colon = listen.rfind(':');
  int port = 0;
  const auto* const end = listen.data() + listen.size();
  if (colon == std::string::npos ||
      std::from_chars(listen.data() + colon + 1, end, port).ptr != end || port <= 0) {
    return fail(Code::InvalidArgument,
                fmt::format("[bus] listen = \"{}\" is no HOST:PORT", listen));
  }
  auto host = listen.substr(0, colon);
  if (host.empty() || host == "0.0.0.0") {
    host = "127.0.0.1";
  } else if (host == "[::]" || host == "::") {
    host = "::1";
  } else if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  return std::pair{host, port};
}

/// What the latest push recorded; before the first one a mesh with the controller alone.
Result<model::Mesh> mesh_in_force(inventory::State& state, const model::Mesh& declared) {
  MESH_TRY(auto recorded, recorded_mesh(state.inventory));
  if (recorded) {
    return std::move(recorded->mesh);
  }
  model::Mesh bare;
  bare.name = declared.name;
  bare.bus = declared.bus;
  return bare;
}

Result<std::string> first_text(inventory::State& state, const model::Mesh& declared,
                               const bus::ServerProgram& program, Edges edges) {
  MESH_TRY(const auto in_force, mesh_in_force(state, declared));
  const auto shape = bus_shape(in_force);
  MESH_TRY(auto hashes, state.inventory.hashes());
  MESH_TRY(const auto made, missing_credentials(shape.users, hashes, edges.random));
  MESH_CHECK(state.inventory.add_credentials(made));
  for (const auto& credential : made) {
    hashes[credential.principal] = credential.hash;
  }
  return bus_config_text(server_settings(declared, state.paths, program.version), shape, hashes);
}

/// Writes the file that the server starts with, judged by the very program.
Status write_config(const inventory::StatePaths& paths, const std::string& text,
                    const bus::ServerProgram& program) {
  const auto candidate = paths.bus_config() + ".new";
  MESH_CHECK(os::write_file_atomic(candidate, text, os::kPrivateFile));
  if (auto proof = bus::prove_config(program.path, candidate, kProve); !proof) {
    return within(program.path.string() + " refuses the configuration", std::move(proof).error());
  }
  MESH_CHECK(os::remove_tree(candidate));
  return os::write_file_atomic(paths.bus_config(), text, os::kPrivateFile);
}

/// Makes the file what was last proved, where it is not: a server that starts again takes what it
/// finds. A push that works on it is left alone. Runs in the watcher's thread, on a connection of
/// its own.
Status heal_config(const std::string& root, const model::Mesh& declared,
                   const bus::ServerProgram& program, Edges edges, const Say& say) {
  auto lock = inventory::lock_state(root, "controller", edges.clock);
  if (!lock) {
    return lock.error().code == Code::Conflict ? Status() : std::unexpected(lock.error());
  }
  MESH_TRY(auto state, inventory::open_state(root, edges.clock, edges.random));
  MESH_CHECK(ensure_certificate(state.paths, declared, Served::Bus, edges.clock.now()));
  MESH_CHECK(prolong_certificate(state.paths, Served::Bus, edges.clock.now()));
  MESH_TRY(const auto file, read_bus_file(state, declared, root));
  if (file.proved) {
    return {};
  }
  say("the bus configuration is not what was proved: writing it anew");
  MESH_TRY(const auto text, first_text(state, declared, program, edges));
  MESH_CHECK(write_config(state.paths, text, program));
  return remember_proved(state, text);
}

bus::ManagedServerOptions server_options(const inventory::StatePaths& paths,
                                         bus::ServerProgram program, const Say& say) {
  bus::ManagedServerOptions options;
  options.program = std::move(program);
  options.config = paths.bus_config();
  options.directory = paths.bus();
  options.log = paths.bus() + "/nats.log";
  options.record = server_record_file(paths);
  options.say = say;
  return options;
}

/// A server that outlived its controller is taken over as it is, with all its connections; what is
/// not right about its configuration is the next push's.
Result<std::unique_ptr<bus::ManagedServer>> start_server(inventory::State& state,
                                                         const model::Mesh& mesh, Edges edges,
                                                         const Say& say) {
  const auto& paths = state.paths;
  MESH_TRY(auto program, bus::find_server(mesh.bus.program, executable_directory()));
  MESH_TRY(const auto lock, inventory::lock_state(paths.root(), "controller", edges.clock));
  MESH_TRY(const auto running, bus::running_server(server_record_file(paths)));
  auto options = server_options(paths, program, say);
  options.prepare = [root = paths.root(), mesh, program, edges, say] {
    return heal_config(root, mesh, program, edges, say);
  };
  if (running) {
    options.host = running->host;
    options.port = running->port;
    return bus::ManagedServer::start(std::move(options));
  }
  MESH_TRY(const auto address, host_and_port(mesh.bus.listen_or_default()));
  options.host = address.first;
  options.port = address.second;
  MESH_CHECK(renew_certificate(paths, mesh, Served::Bus, edges.clock.now()));
  MESH_TRY(const auto text, first_text(state, mesh, program, edges));
  MESH_CHECK(write_config(paths, text, program));
  MESH_TRY(auto server, bus::ManagedServer::start(std::move(options)));
  MESH_CHECK(remember_proved(state, text));
  return server;
}

/// Which directory this is, whatever it is called: a copy of a state is another one.
std::string place_of(const inventory::StatePaths& paths) {
  std::error_code code;
  const auto real = std::filesystem::canonical(paths.root(), code);
  return code ? paths.root() : real.string();
}

Status write_record(const inventory::StatePaths& paths, Edges edges) {
  MESH_TRY(const auto mark, os::mark_of(::getpid()));
  const nlohmann::json record = {{"pid", mark.pid},
                                 {"started", mark.started},
                                 {"boot", mark.boot},
                                 {"state", place_of(paths)},
                                 {"since", os::rfc3339(edges.clock.now())}};
  return os::write_file_atomic(record_file(paths), record.dump() + "\n", os::kPrivateFile);
}

}  // namespace

std::string controller_lock_file(const inventory::StatePaths& paths) {
  return paths.run() + "/controller.lock";
}

Result<std::optional<ControllerRecord>> running_controller(const inventory::StatePaths& paths) {
  auto text = os::read_file(record_file(paths), kLargestRecord);
  if (!text) {
    return text.error().code == Code::NotFound
               ? Result<std::optional<ControllerRecord>>(std::nullopt)
               : std::unexpected(std::move(text).error());
  }
  const auto document = nlohmann::json::parse(*text, nullptr, false);
  if (!document.is_object() || !document.contains("pid") || !document["pid"].is_number_integer()) {
    return fail(Code::Corrupt, record_file(paths) + " is no record of a controller");
  }
  ControllerRecord record;
  record.mark = {document["pid"].get<pid_t>(), document.value("started", std::uint64_t{0}),
                 document.value("boot", "")};
  record.since = document.value("since", "");
  const auto now = os::mark_of(record.mark.pid);
  const bool ours = document.value("state", place_of(paths)) == place_of(paths);
  return ours && now && *now == record.mark ? std::optional(std::move(record)) : std::nullopt;
}

struct Controller::Parts {
  inventory::State& state;
  std::string root;
  Edges edges;
  Say say;
  os::Lock lock;
  std::unique_ptr<bus::ManagedServer> server;
  std::unique_ptr<RegistryKeeper> registry;
  Healer healer;
  NodeKeeper nodes;
  bool stopped = false;
};

Controller::Controller(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Controller::~Controller() {
  if (auto done = stop(); !done) {
    parts_->say(done.error().message);
  }
}

Result<std::unique_ptr<Controller>> Controller::start(inventory::State& state,
                                                      const Location& location,
                                                      const model::Mesh& mesh, Edges edges,
                                                      Say say) {
  MESH_CHECK(os::make_private_dir(state.paths.run()));
  MESH_CHECK(os::make_private_dir(state.paths.bus()));
  MESH_TRY(auto lock, os::Lock::take(controller_lock_file(state.paths), "controller",
                                     os::rfc3339(edges.clock.now())));
  sweep_builds(location.in_state("builder"));
  std::unique_ptr<bus::ManagedServer> server;
  if (mesh.bus.managed) {
    MESH_TRY(server, start_server(state, mesh, edges, say));
  }
  auto registry = std::make_unique<RegistryKeeper>(state, location, edges, say);
  MESH_CHECK(registry->begin(mesh));
  MESH_CHECK(write_record(state.paths, edges));
  std::unique_ptr<Controller> controller(new Controller(std::unique_ptr<Parts>(
      new Parts{state, location.root, edges, say, std::move(lock), std::move(server),
                std::move(registry), Healer(state, location.root, edges, say),
                NodeKeeper(state, location, edges, std::move(say)), false})));
  controller->tick();  // what is kept in memory alone went with the server that was
  return controller;
}

void Controller::tick() {
  parts_->registry->tick();
  parts_->healer.tick();
  parts_->nodes.tick();
}

std::optional<bus::ServerRecord> Controller::server() const {
  return parts_->server ? std::optional(parts_->server->record()) : std::nullopt;
}

std::optional<os::ServerRecord> Controller::registry() const {
  return parts_->registry->record();
}

Status Controller::stop() {
  if (std::exchange(parts_->stopped, true)) {
    return {};
  }
  parts_->nodes.disconnect();
  parts_->healer.disconnect();
  Status done = parts_->registry->stop();
  if (auto bus = parts_->server ? parts_->server->stop() : Status(); !bus) {
    done = std::move(bus);
  }
  if (auto removed = os::remove_tree(record_file(parts_->state.paths)); !removed && done) {
    done = std::move(removed);
  }
  parts_->lock.release();
  return done;
}

}  // namespace mesh::controller
