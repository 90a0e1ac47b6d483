#pragma once

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "bus/connection.h"
#include "tests/support/nats_server.h"

namespace mesh::test {

/// The configuration of a small server: an account with JetStream (`admin`), a user in it who may
/// do little (`small`), and the system account (`system`); each password is the user's name.
inline const std::string kSmallServer = R"(
server_name: one
jetstream { store_dir: "@DIR@/js" }
system_account: SYS
accounts {
  MESH: {
    jetstream: enabled
    users: [
      { user: admin, password: admin }
      { user: small, password: small, permissions: {
          publish: { allow: ["may.pub"] }, subscribe: { allow: ["_INBOX.small.>", "may.sub"] } } }
    ]
  }
  PLAIN: { users: [ { user: plain, password: plain } ] }
  SYS: { users: [ { user: system, password: system } ] }
}
)";

inline bus::ConnectOptions as(const NatsServer& server, const std::string& user) {
  bus::ConnectOptions options;
  options.urls = {server.url()};
  options.user = user;
  options.password = user;
  options.inbox = fmt::format("_INBOX.{}", user);
  options.name = "test";
  return options;
}

/// `v2_10` for `2.10`, in the names of tests.
inline std::string version_name(const testing::TestParamInfo<std::string>& each) {
  std::string name = "v" + each.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

}  // namespace mesh::test
