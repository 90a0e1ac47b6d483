#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bus/connection.h"

namespace mesh::bus {

/// One server, as it describes itself.
struct ServerState {
  std::string id;
  std::string name;
  std::string version;
  std::string host;
  int port = 0;
  bool jetstream = false;
  std::string config_load_time;  // RFC 3339 with nanoseconds: moves with each successful reload
  std::string config_digest;     // `sha256:…`, as `nats-server -t` prints it; empty before 2.11
  bool ack_v2 = false;           // feature flag js_ack_fc_v2 is on: not supported by the grants
};

/// A client's connection.
struct ClientState {
  std::uint64_t id = 0;
  std::string server;  // the server's id
  std::string user;    // the principal
  std::string account;
  std::string name;     // what the client calls itself
  std::string address;  // host:port it comes from
};

/// The server's own account, over a connection whose user is in the system account. The connection
/// must outlive it. `Unavailable` where the user is not in the system account.
class SystemAccount {
 public:
  explicit SystemAccount(Connection& connection, Milliseconds timeout = Milliseconds{5000});

  /// Every server of the cluster, sorted by name and id. `Timeout` where fewer answered than
  /// `expected`, or than the servers themselves know of.
  [[nodiscard]] Result<std::vector<ServerState>> servers(std::size_t expected = 0);
  [[nodiscard]] Result<ServerState> server(std::string_view id);

  /// Makes one server read its file again, and proves it: returns its new state, whose load time
  /// has moved. A file that the server refuses is `InvalidArgument` with the server's words, and
  /// the old configuration stays in force. `timeout` bounds the whole.
  [[nodiscard]] Result<ServerState> reload(std::string_view id, Milliseconds timeout);

  /// Reloads every server, all once and then, with `twice`, all again: a new account's imports work
  /// only after the second reload (measured on 2.10 and 2.15). Stops at the first failure, naming
  /// the server. Where `digest` is not empty, each server that tells a digest must have this one.
  [[nodiscard]] Result<std::vector<ServerState>> reload_all(bool twice, Milliseconds timeout,
                                                            std::string_view digest = {});

  /// Who is connected to any server, sorted by user, server and id: this connection too. With
  /// `user` only its connections.
  [[nodiscard]] Result<std::vector<ClientState>> clients(std::string_view user = {});

 private:
  [[nodiscard]] Result<std::vector<std::string>> ids(std::size_t expected = 0);
  [[nodiscard]] Status add_clients(const std::string& id, std::string_view user,
                                   std::vector<ClientState>& clients);

  Connection* connection_;
  Milliseconds timeout_;
};

}  // namespace mesh::bus
