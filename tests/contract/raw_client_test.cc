#include "tests/support/raw_client.h"

#include <gtest/gtest.h>

#include "tests/contract/servers.h"
#include "tests/support/nats_server.h"

namespace mesh::test {
namespace {

class RawClientOn : public testing::TestWithParam<std::string> {};

TEST_P(RawClientOn, SendsWhatItIsTold) {
  auto server = NatsServer::start(GetParam(), kSmallServer);
  ASSERT_TRUE(server) << server.error().message;
  auto admin = RawClient::connect(server->port(), "admin", "admin");
  ASSERT_TRUE(admin) << admin.error().message;
  ASSERT_TRUE(admin->subscribe("a.>", "1"));
  ASSERT_TRUE(admin->publish("a.b", "hello", "any.reply"));
  ASSERT_TRUE(admin->publish_with_header("a.c", "NATS/1.0\r\nX: y\r\n\r\n", "body"));
  const auto heard = admin->settle();
  ASSERT_TRUE(heard);
  ASSERT_EQ(heard->messages.size(), 2U);
  EXPECT_EQ(heard->messages[0].reply, "any.reply");
  EXPECT_EQ(heard->messages[0].payload, "hello");
  EXPECT_EQ(heard->messages[1].header, "NATS/1.0\r\nX: y\r\n\r\n");
  EXPECT_EQ(heard->messages[1].payload, "body");
  const auto info = admin->request("$JS.API.INFO", "", "_INBOX.admin.1");
  ASSERT_TRUE(info);
  EXPECT_NE(info->payload.find("account_info_response"), std::string::npos);
}

TEST_P(RawClientOn, HearsRefusals) {
  auto server = NatsServer::start(GetParam(), kSmallServer);
  ASSERT_TRUE(server) << server.error().message;
  auto small = RawClient::connect(server->port(), "small", "small");
  ASSERT_TRUE(small) << small.error().message;
  ASSERT_TRUE(small->publish("must.not", ""));
  ASSERT_TRUE(small->subscribe("must.not", "9"));
  const auto heard = small->settle();
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->errors,
            (std::vector<std::string>{R"(Permissions Violation for Publish to "must.not")",
                                      R"(Permissions Violation for Subscription to "must.not")"}));
  EXPECT_TRUE(small->is_open());
  const auto refused = RawClient::connect(server->port(), "small", "wrong");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::PermissionDenied);
}

INSTANTIATE_TEST_SUITE_P(Servers, RawClientOn, testing::ValuesIn(server_versions()), version_name);

}  // namespace
}  // namespace mesh::test
