// Three servers in a cluster: the system account asks and reloads each of them.

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "bus/jetstream.h"
#include "bus/system.h"
#include "tests/contract/servers.h"

namespace mesh::bus {
namespace {

using test::as;
using test::NatsServer;
using namespace std::chrono_literals;

constexpr int kServers = 3;

class ClusterOn : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::vector<std::string> routes;
    for (int i = 0; i < kServers; ++i) {
      ports_.push_back(test::free_port());
      routes.push_back(fmt::format("\"nats://r:r@127.0.0.1:{}\"", ports_.back()));
    }
    routes_ = fmt::format("{}", fmt::join(routes, ", "));
    for (int i = 0; i < kServers; ++i) {
      auto server = NatsServer::start(GetParam(), config(i));
      ASSERT_TRUE(server) << server.error().message;
      servers_.push_back(*std::move(server));
    }
    auto connection = Connection::connect(as(servers_[0], "system"));
    ASSERT_TRUE(connection) << connection.error().message;
    connection_ = std::make_unique<Connection>(*std::move(connection));
    ASSERT_TRUE(wait_for_all());
  }

  std::string config(int i, const std::string& more_users = {}) const {
    std::string text = test::kSmallServer;
    text.replace(text.find("server_name: one"), 16, fmt::format("server_name: s{}", i));
    const std::string first = "{ user: admin, password: admin }";
    text.insert(text.find(first), more_users);
    return text + fmt::format(
                      "cluster {{ name: c, listen: \"127.0.0.1:{}\", authorization {{ user: "
                      "r, password: r }}, routes: [ {} ] }}\n",
                      ports_.at(static_cast<std::size_t>(i)), routes_);
  }

  /// Until each server knows of the two others.
  bool wait_for_all() {
    const auto deadline = std::chrono::steady_clock::now() + 30s;
    while (std::chrono::steady_clock::now() < deadline) {
      const auto found = SystemAccount(*connection_, 1s).servers(kServers);
      if (found && found->size() == kServers) {
        return true;
      }
    }
    return false;
  }

  std::vector<int> ports_;
  std::string routes_;
  std::vector<NatsServer> servers_;
  std::unique_ptr<Connection> connection_;
};

TEST_P(ClusterOn, ReloadsEachServer) {
  SystemAccount system(*connection_);
  const auto before = system.servers();
  ASSERT_TRUE(before) << before.error().message;
  ASSERT_EQ(before->size(), 3U);
  EXPECT_EQ((*before)[0].name, "s0");
  EXPECT_EQ((*before)[2].name, "s2");
  for (int i = 0; i < kServers; ++i) {
    servers_[static_cast<std::size_t>(i)].write_config(
        config(i, "{ user: added, password: added }\n"));
  }
  const auto after = system.reload_all(true, 30s);
  ASSERT_TRUE(after) << after.error().message;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_GT((*after)[i].config_load_time, (*before)[i].config_load_time);
    EXPECT_TRUE(Connection::connect(as(servers_[i], "added"))) << i;
  }
}

TEST_P(ClusterOn, NamesTheServerThatRefuses) {
  servers_[1].write_config(config(1) + "nonsense: 1\n");
  const auto refused = SystemAccount(*connection_).reload_all(false, 30s);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("server s1 did not take"), std::string::npos)
      << refused.error().message;
}

TEST_P(ClusterOn, FindsClientsOnAllServers) {
  std::vector<Connection> connections;
  for (const NatsServer& server : servers_) {
    auto connection = Connection::connect(as(server, "small"));
    ASSERT_TRUE(connection);
    connections.push_back(*std::move(connection));
  }
  const auto clients = SystemAccount(*connection_).clients("small");
  ASSERT_TRUE(clients) << clients.error().message;
  ASSERT_EQ(clients->size(), 3U);
  std::set<std::string> on;
  for (const ClientState& client : *clients) {
    on.insert(client.server);
  }
  EXPECT_EQ(on.size(), 3U);
}

TEST_P(ClusterOn, TellsThatOneIsMissing) {
  servers_.pop_back();
  const auto servers = SystemAccount(*connection_, 1s).servers(kServers);
  ASSERT_FALSE(servers);
  EXPECT_EQ(servers.error().code, Code::Timeout);
}

INSTANTIATE_TEST_SUITE_P(Servers, ClusterOn, testing::ValuesIn(test::server_versions()),
                         test::version_name);

}  // namespace
}  // namespace mesh::bus
