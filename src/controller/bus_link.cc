#include "controller/bus_link.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "bus/server_hello.h"
#include "controller/steps.h"
#include "controller/tls.h"
#include "model/subjects.h"
#include "os/files.h"

namespace mesh::controller {

namespace {

constexpr std::size_t kLargestCa = 1U << 20U;
constexpr bus::Milliseconds kHello{1000};

Status check_servers(const std::vector<bus::ServerState>& servers) {
  for (const auto& server : servers) {
    const auto version = bus::parse_version(server.version);
    if (version && *version < bus::kOldestServer) {
      return fail(Code::Unsupported,
                  fmt::format("nats-server {} is too old ({} is {})", server.version, server.name,
                              "2.9 ignores several filters of a consumer and loses answers in a "
                              "reload"),
                  "run 2.10 or later");
    }
    if (server.ack_v2) {
      return fail(Code::Unsupported,
                  fmt::format("server {} has feature flag js_ack_fc_v2 on", server.name),
                  "switch it off: feature_flags { js_ack_fc_v2: false }");
    }
  }
  return {};
}

Result<std::string> ca_of(const model::Mesh& mesh, const std::string& root) {
  if (!mesh.bus.ca) {
    return std::string();
  }
  const auto path = std::filesystem::path(root) / *mesh.bus.ca;
  return os::read_file(path.string(), kLargestCa);
}

/// Whether the configuration on disk has TLS. Only its head is read: the accounts may be many.
bool configured_tls(const inventory::StatePaths& paths) {
  std::ifstream file(paths.bus_config());
  std::string line;
  while (std::getline(file, line) && line != "accounts {") {
    if (line == "tls {") {
      return true;
    }
  }
  return false;
}

/// Whether the managed server speaks TLS: as is declared and configured, where these agree (a
/// question that ends before the handshake is an error in the server's log), else as it says.
bool speaks_tls(const model::Mesh& mesh, const inventory::StatePaths& paths,
                const bus::ServerRecord& server, bool ask) {
  const bool configured = configured_tls(paths);
  if (!ask && configured == mesh.bus.tls()) {
    return configured;
  }
  const auto hello = bus::read_hello(server.host, server.port, kHello);
  return hello ? hello->tls : configured;
}

/// An error of the login, in words that say whose fault it is.
Error login_error(Error error, const model::Mesh& mesh) {
  if (error.code == Code::PermissionDenied) {
    error.hint = mesh.bus.managed
                     ? "the bus that runs does not know this state's credentials: end it and start "
                       "`mesh controller` again"
                     : "the server must include the file of [bus] config; `mesh push` writes it";
  } else if (error.code == Code::Unavailable && error.hint.empty()) {
    error.hint = mesh.bus.managed ? "start it with `mesh controller` or `mesh up`"
                                  : "is the server of [bus] running?";
  }
  return error;
}

}  // namespace

std::string server_record_file(const inventory::StatePaths& paths) {
  return paths.bus() + "/server.json";
}

Result<BusAddress> bus_address(const model::Mesh& mesh, const inventory::StatePaths& paths,
                               bool ask) {
  if (!mesh.bus.managed) {
    return BusAddress{mesh.bus.urls(), {}};
  }
  MESH_TRY(auto record, bus::running_server(server_record_file(paths)));
  std::error_code code;
  // The record of a copied state tells of the other's server.
  if (!record || !std::filesystem::equivalent(record->config, paths.bus_config(), code)) {
    return fail(Code::Unavailable, "the bus does not run",
                "start it with `mesh controller` or `mesh up`");
  }
  const auto host = record->host.find(':') == std::string::npos || record->host.starts_with('[')
                        ? record->host
                        : "[" + record->host + "]";
  BusAddress out{{}, std::move(record), {}};
  if (speaks_tls(mesh, paths, *out.managed, ask)) {
    MESH_TRY(out.ca_pem, os::read_file(paths.authority_certificate(), kLargestCa));
  }
  out.urls = {
      fmt::format("{}://{}:{}", out.ca_pem.empty() ? "nats" : "tls", host, out.managed->port)};
  return out;
}

Result<bus::ConnectOptions> connect_options(inventory::State& state, const model::Mesh& mesh,
                                            const std::string& root, const BusAddress& address,
                                            const std::string& principal,
                                            const std::string& inbox) {
  bus::ConnectOptions options;
  options.urls = address.urls;
  options.user = principal;
  options.inbox = inbox;
  options.name = "mesh " + principal;
  options.ca_pem = address.ca_pem;
  if (!address.managed) {
    MESH_TRY(options.ca_pem, ca_of(mesh, root));
  }
  MESH_TRY(const auto secret, state.inventory.credential_secret(principal));
  options.password = std::string(secret.reveal());
  return options;
}

Result<BusLink> connect_bus(inventory::State& state, const model::Mesh& mesh,
                            const std::string& root, bus::Milliseconds timeout) {
  const os::Deadline deadline(timeout);
  MESH_TRY(auto address, bus_address(mesh, state.paths));
  const auto dial = [&](const std::string& user) -> Result<bus::Connection> {
    auto options = connect_options(state, mesh, root, address, user, "_INBOX." + user);
    if (!options) {
      return std::unexpected(std::move(options).error());
    }
    options->timeout = at_most(timeout, deadline);
    auto connection = bus::Connection::connect(*options);
    if (!connection) {
      return std::unexpected(login_error(std::move(connection).error(), mesh));
    }
    return connection;
  };
  auto first = dial(model::kControllerSystem);
  if (!first && address.managed) {
    // A push that was cut off before its reload left another configuration than the one in force.
    const auto asked = bus_address(mesh, state.paths, /*ask=*/true);
    if (asked && asked->urls != address.urls) {
      address = *asked;
      first = dial(model::kControllerSystem);
    }
  }
  MESH_TRY(auto system, std::move(first));
  auto answered =
      bus::SystemAccount(system, at_most(timeout, deadline)).servers(address.managed ? 1 : 0);
  if (!answered && answered.error().code == Code::Unavailable) {
    // A server without users lets everybody in, but not into its system account.
    answered = fail(Code::PermissionDenied, "the bus does not know this mesh's users");
  }
  if (!answered) {
    return std::unexpected(login_error(std::move(answered).error(), mesh));
  }
  auto servers = std::move(*answered);
  MESH_CHECK(check_servers(servers));
  MESH_TRY(auto connection, dial(model::kController));
  if (!address.managed) {
    MESH_TRY(address.ca_pem, ca_of(mesh, root));
  }
  return BusLink{std::move(connection),   std::move(system),         std::move(servers),
                 std::move(address.urls), std::move(address.ca_pem), std::move(address.managed)};
}

}  // namespace mesh::controller
