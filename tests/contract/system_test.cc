#include "bus/system.h"

#include <gtest/gtest.h>

#include "bus/server_program.h"
#include "tests/contract/servers.h"

namespace mesh::bus {
namespace {

using test::as;
using test::kSmallServer;
using test::NatsServer;
using namespace std::chrono_literals;

/// The small server's configuration with one more user in MESH.
std::string with_user(const std::string& user) {
  std::string text = kSmallServer;
  const std::string first = "{ user: admin, password: admin }";
  return text.insert(text.find(first), fmt::format("{{ user: {0}, password: {0} }}\n", user));
}

class SystemOn : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto server = NatsServer::start(GetParam(), kSmallServer);
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::make_unique<NatsServer>(*std::move(server));
    auto connection = Connection::connect(as(*server_, "system"));
    ASSERT_TRUE(connection) << connection.error().message;
    connection_ = std::make_unique<Connection>(*std::move(connection));
  }
  bool lets_in(const std::string& user) {
    return Connection::connect(as(*server_, user)).has_value();
  }

  std::unique_ptr<NatsServer> server_;
  std::unique_ptr<Connection> connection_;
};

TEST_P(SystemOn, DescribesTheServer) {
  SystemAccount system(*connection_);
  auto servers = system.servers();
  ASSERT_TRUE(servers) << servers.error().message;
  ASSERT_EQ(servers->size(), 1U);
  const ServerState& one = servers->front();
  EXPECT_EQ(one.name, "one");
  const auto program = examine_server(test::server_program(GetParam()));
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(one.version, program->version.text());
  EXPECT_EQ(one.port, server_->port());
  EXPECT_TRUE(one.jetstream);
  EXPECT_FALSE(one.ack_v2);
  EXPECT_EQ(one.id.size(), 56U);
  EXPECT_EQ(one.config_load_time.substr(0, 2), "20");
}

TEST_P(SystemOn, TellsWhoIsNotInTheSystemAccount) {
  auto admin = Connection::connect(as(*server_, "admin"));
  ASSERT_TRUE(admin);
  EXPECT_EQ(SystemAccount(*admin, 2s).servers().error().code, Code::Unavailable);
}

TEST_P(SystemOn, ReloadsAndProvesIt) {
  SystemAccount system(*connection_);
  const auto before = system.servers();
  ASSERT_TRUE(before);
  EXPECT_FALSE(lets_in("added"));
  server_->write_config(with_user("added"));
  const auto proof = prove_config(test::server_program(GetParam()), server_->config_file(), 10s);
  ASSERT_TRUE(proof) << proof.error().message;
  const auto after = system.reload_all(true, 20s, proof->digest);
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(after->front().config_digest, proof->digest);
  EXPECT_EQ(proof->digest.empty(), GetParam() == "2.10");
  EXPECT_GT(after->front().config_load_time, before->front().config_load_time);
  EXPECT_TRUE(lets_in("added"));
}

TEST_P(SystemOn, TellsReloadsInQuickSuccessionApart) {
  SystemAccount system(*connection_);
  const auto servers = system.servers();
  ASSERT_TRUE(servers);
  std::set<std::string> times;
  for (int i = 0; i < 50; ++i) {
    const auto state = system.reload(servers->front().id, 20s);
    ASSERT_TRUE(state) << state.error().message;
    times.insert(state->config_load_time);
  }
  EXPECT_EQ(times.size(), 50U);
}

TEST_P(SystemOn, KeepsTheOldConfigurationWhenTheNewOneIsRefused) {
  SystemAccount system(*connection_);
  const auto before = system.servers();
  ASSERT_TRUE(before);
  server_->write_config(with_user("added") + "\nthis is not : [ a configuration");
  const auto refused = system.reload_all(false, 20s);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::InvalidArgument);
  EXPECT_NE(refused.error().message.find("server one did not take"), std::string::npos)
      << refused.error().message;
  const auto after = system.servers();
  ASSERT_TRUE(after);
  EXPECT_EQ(after->front().config_load_time, before->front().config_load_time);
  EXPECT_FALSE(lets_in("added"));
  EXPECT_TRUE(lets_in("admin"));
}

TEST_P(SystemOn, RefusesWhatAReloadCannotChange) {
  SystemAccount system(*connection_);
  std::string text = kSmallServer;
  text.replace(text.find("server_name: one"), 16, "server_name: two");
  server_->write_config(text);
  const auto refused = system.reload_all(false, 20s);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::InvalidArgument);
  EXPECT_NE(refused.error().message.find("ServerName"), std::string::npos)
      << refused.error().message;
}

TEST_P(SystemOn, RefusesAnotherDigest) {
  const auto refused = SystemAccount(*connection_).reload_all(false, 20s, "sha256:00");
  if (GetParam() == "2.10") {
    EXPECT_TRUE(refused);
  } else {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::Conflict);
  }
}

TEST_P(SystemOn, ANewAccountNeedsTheSecondReload) {
  SystemAccount system(*connection_);
  std::string text = kSmallServer;
  text.replace(text.find("    jetstream: enabled"), 0, "    exports: [ { service: \"ask.*\" } ]\n");
  text.insert(text.find("  PLAIN:"),
              "  NEW: { users: [ { user: new, password: new } ], imports: [ { service: { account: "
              "MESH, subject: \"ask.me\" } } ] }\n");
  auto admin = Connection::connect(as(*server_, "admin"));
  ASSERT_TRUE(admin);
  auto answers = admin->subscribe("ask.me", "", [&](const Message& message) {
    EXPECT_TRUE(admin->publish(message.reply, "yes"));
  });
  ASSERT_TRUE(answers && admin->flush(5s));
  server_->write_config(text);
  ASSERT_TRUE(system.reload_all(false, 20s));
  auto fresh = Connection::connect(as(*server_, "new"));
  ASSERT_TRUE(fresh);
  EXPECT_EQ(fresh->request("ask.me", "", 2s).error().code, Code::Unavailable)
      << "the rule of the second reload would no longer be needed";
  ASSERT_TRUE(system.reload_all(true, 20s));
  const auto answer = fresh->request("ask.me", "", 5s);
  EXPECT_TRUE(answer && answer->data == "yes");
}

TEST_P(SystemOn, TellsWhoIsConnected) {
  SystemAccount system(*connection_);
  auto admin = Connection::connect(as(*server_, "admin"));
  auto small = Connection::connect(as(*server_, "small"));
  auto second = Connection::connect(as(*server_, "small"));
  ASSERT_TRUE(admin && small && second);
  const auto all = system.clients();
  ASSERT_TRUE(all) << all.error().message;
  std::vector<std::string> users;
  for (const ClientState& client : *all) {
    users.push_back(client.user);
  }
  EXPECT_EQ(users, (std::vector<std::string>{"admin", "small", "small", "system"}));
  EXPECT_EQ(all->front().account, "MESH");
  EXPECT_EQ(all->front().name, "test");
  EXPECT_TRUE(all->front().address.starts_with("127.0.0.1:"));
  const auto only = system.clients("small");
  ASSERT_TRUE(only);
  EXPECT_EQ(only->size(), 2U);
}

INSTANTIATE_TEST_SUITE_P(Servers, SystemOn, testing::ValuesIn(test::server_versions()),
                         test::version_name);

}  // namespace
}  // namespace mesh::bus
