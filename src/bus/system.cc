#include "bus/system.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "bus/json_fields.h"

namespace mesh::bus {

namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kPageOfClients = 1024;

/// The `data` of an answer of `$SYS.REQ.SERVER`; its error is `InvalidArgument` with the server's
/// words.
Result<json> read_answer(const Message& message) {
  json read = json::parse(message.data, nullptr, false);
  if (!read.is_object()) {
    return fail(Code::Corrupt, "the system account answered what is not JSON");
  }
  if (const json& error = field(read, "error"); error.is_object()) {
    const auto words = printable(text(error, "description"), 2000);
    return fail(Code::InvalidArgument,
                words.empty() ? "the server refused it, without a word" : words);
  }
  return read;
}

Result<json> ask(Connection& connection, std::string_view id, std::string_view what,
                 const json& body, Milliseconds timeout) {
  auto answer = connection.request(fmt::format("$SYS.REQ.SERVER.{}.{}", id, what),
                                   body.is_null() ? std::string{} : body.dump(), timeout);
  if (!answer && answer.error().code == Code::Unavailable && connection.is_connected()) {
    return fail(Code::Unavailable,
                fmt::format("server {} does not answer {} in the system account", id, what),
                fmt::format("is {} a user of the system account, and is the server running?",
                            connection.user()));
  }
  MESH_CHECK(answer);
  return read_answer(*answer);
}

ServerState read_server(const json& varz) {
  ServerState server;
  server.id = text(varz, "server_id");
  server.name = text(varz, "server_name");
  server.version = text(varz, "version");
  server.host = text(varz, "host");
  server.port = static_cast<int>(count(varz, "port"));
  server.jetstream = field(field(varz, "jetstream"), "config").is_object();
  server.config_load_time = text(varz, "config_load_time");
  server.config_digest = text(varz, "config_digest");
  server.ack_v2 = flag(field(varz, "feature_flags"), "js_ack_fc_v2");
  return server;
}

/// How many servers the one that answered knows of: it counts those that it heard in the system
/// account, which just after a start are fewer than those that it has routes to (several to each).
std::size_t known_servers(const json& statistics) {
  std::set<std::string> others;
  for (const json& route : field(statistics, "routes")) {
    others.insert(text(route, "name"));
  }
  return std::max<std::size_t>(count(statistics, "active_servers"), others.size() + 1);
}

std::vector<ClientState> read_clients(const json& connz, const std::string& server) {
  std::vector<ClientState> clients;
  for (const json& each : field(connz, "connections")) {
    clients.push_back({count(each, "cid"), server, text(each, "authorized_user"),
                       text(each, "account"), text(each, "name"),
                       fmt::format("{}:{}", text(each, "ip"), count(each, "port"))});
  }
  return clients;
}

Milliseconds left_until(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<Milliseconds>(deadline - Clock::now());
  return std::max(left, Milliseconds{1});
}

}  // namespace

SystemAccount::SystemAccount(Connection& connection, Milliseconds timeout)
    : connection_(&connection), timeout_(timeout) {}

Result<std::vector<std::string>> SystemAccount::ids(std::size_t expected) {
  std::set<std::string> found;
  std::size_t known = std::max<std::size_t>(expected, 1);
  MESH_CHECK(connection_->request_stream(
      "$SYS.REQ.SERVER.PING.STATSZ", "", timeout_, [&](const Message& message) {
        const json read = json::parse(message.data, nullptr, false);
        found.insert(text(field(read, "server"), "id"));
        known = std::max(known, known_servers(field(read, "statsz")));
        return found.size() < known ? timeout_ : Milliseconds::zero();
      }));
  if (found.size() < known) {
    return fail(Code::Timeout, fmt::format("{} of {} servers of the bus answered within {} ms",
                                           found.size(), known, timeout_.count()));
  }
  return std::vector<std::string>(found.begin(), found.end());
}

Result<std::vector<ServerState>> SystemAccount::servers(std::size_t expected) {
  MESH_TRY(const std::vector<std::string> all, ids(expected));
  std::vector<ServerState> servers;
  for (const std::string& id : all) {
    MESH_TRY(ServerState one, server(id));
    servers.push_back(std::move(one));
  }
  std::sort(servers.begin(), servers.end(), [](const ServerState& a, const ServerState& b) {
    return std::tie(a.name, a.id) < std::tie(b.name, b.id);
  });
  return servers;
}

Result<ServerState> SystemAccount::server(std::string_view id) {
  MESH_TRY(const json answer, ask(*connection_, id, "VARZ", nullptr, timeout_));
  return read_server(field(answer, "data"));
}

Result<ServerState> SystemAccount::reload(std::string_view id, Milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  MESH_TRY(const ServerState before, server(id));
  // The server reads the file before it answers. With many accounts that takes seconds.
  if (auto answer = ask(*connection_, id, "RELOAD", nullptr, timeout); !answer) {
    return within(fmt::format("server {} did not take the new configuration", before.name),
                  std::move(answer).error());
  }
  for (;;) {
    MESH_TRY(ServerState now, server(id));
    if (now.config_load_time != before.config_load_time) {
      return now;
    }
    if (Clock::now() >= deadline) {
      return fail(Code::Timeout,
                  fmt::format("server {} answered the reload, but its configuration is still that "
                              "of {}",
                              before.name, before.config_load_time));
    }
  }
}

Result<std::vector<ServerState>> SystemAccount::reload_all(bool twice, Milliseconds timeout,
                                                           std::string_view digest) {
  const auto deadline = Clock::now() + timeout;
  MESH_TRY(std::vector<ServerState> all, servers());
  for (int round = 0; round < (twice ? 2 : 1); ++round) {
    for (ServerState& each : all) {
      MESH_TRY(each, reload(each.id, left_until(deadline)));
      if (!digest.empty() && !each.config_digest.empty() && each.config_digest != digest) {
        return fail(Code::Conflict,
                    fmt::format("server {} loaded another configuration than the one that was "
                                "proved: {}",
                                each.name, each.config_digest),
                    "is it started with the configuration file of this mesh?");
      }
    }
  }
  return all;
}

Result<std::vector<ClientState>> SystemAccount::clients(std::string_view user) {
  MESH_TRY(const std::vector<std::string> all, ids());
  std::vector<ClientState> clients;
  for (const std::string& id : all) {
    MESH_CHECK(add_clients(id, user, clients));
  }
  std::sort(clients.begin(), clients.end(), [](const ClientState& a, const ClientState& b) {
    return std::tie(a.user, a.server, a.id) < std::tie(b.user, b.server, b.id);
  });
  return clients;
}

Status SystemAccount::add_clients(const std::string& id, std::string_view user,
                                  std::vector<ClientState>& clients) {
  json options{{"auth", true}, {"limit", kPageOfClients}, {"offset", 0}};
  if (!user.empty()) {
    options["user"] = user;
  }
  for (std::uint64_t offset = 0;;) {
    options["offset"] = offset;
    MESH_TRY(const json answer, ask(*connection_, id, "CONNZ", options, timeout_));
    const json& connz = field(answer, "data");
    std::vector<ClientState> page = read_clients(connz, id);
    offset += page.size();
    const bool last = page.empty() || offset >= count(connz, "total");
    clients.insert(clients.end(), std::make_move_iterator(page.begin()),
                   std::make_move_iterator(page.end()));
    if (last) {
      return {};
    }
  }
}

}  // namespace mesh::bus
