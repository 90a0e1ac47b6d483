/// What a taken-over instance can do to others by asking for much, and by guessing: its floods of
/// events, requests and connections, ids that it takes first, and a caller's name that it forges.

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "os/clock.h"
#include "tests/system/escape/world.h"

namespace mesh::test::escape {
namespace {

constexpr const char* kOrders = "mesh.mod.shop.event.order.placed";
constexpr const char* kTool = "mesh.mod.audit.tool.search";

class Availability : public testing::TestWithParam<std::string> {
 protected:
  Availability() : world_(GetParam(), Layout::Accounts) {}

  std::uint64_t stored(const std::string& subject) {
    const auto info = world_.api("STREAM.INFO.EVENTS", R"({"subjects_filter":">"})");
    const auto subjects = info.at("state").value("subjects", nlohmann::json::object());
    return subjects.value(subject, std::uint64_t{0});
  }

  std::uint64_t undelivered_of_audit() {
    return world_.api("CONSUMER.INFO.EVENTS.two_audit").at("num_pending").get<std::uint64_t>();
  }

  /// shop calls audit's tool, and audit answers: true where the answer arrived.
  bool call_is_answered() {
    auto shop = world_.login("two.shop");
    auto& audit = world_.watcher("two.audit");
    (void)audit.settle();
    EXPECT_TRUE(shop.subscribe("_INBOX.two.shop.call", "answer"));
    EXPECT_TRUE(shop.publish(kTool, "from shop", "_INBOX.two.shop.call"));
    while (auto call = audit.next(Milliseconds{5000}, "mesh.mod.audit.tool.>")) {
      if (call->payload == "from shop") {
        EXPECT_TRUE(audit.publish(call->reply, "found"));
        const auto answer = shop.next(Milliseconds{5000}, "answer");
        return answer && answer->payload == "found";
      }
    }
    return false;
  }

  World world_;
};

TEST_P(Availability, AFloodOfOwnEventsPushesOutNobodyElses) {
  auto& thief = world_.begin();
  const auto orders = stored(kOrders);
  const auto undelivered = undelivered_of_audit();
  ASSERT_GE(orders, 3U);
  static constexpr int kFlood = 30'000;  // three times what is kept of one event
  for (int i = 0; i < kFlood; ++i) {
    ASSERT_TRUE(thief.publish(kOwnEvent, "a flood", "_INBOX.two.thief.ack"));
  }
  ASSERT_TRUE(thief.sync(Milliseconds{60'000}));
  // JetStream works through what it took: an event behind the flood is stored after it.
  world_.emit("two.shop", kOrders, "after the flood");
  EXPECT_EQ(stored(kOrders), orders + 1);
  EXPECT_LE(stored(kOwnEvent), 10'000U);
  EXPECT_GE(undelivered_of_audit(), undelivered);
  EXPECT_TRUE(call_is_answered());
}

TEST_P(Availability, AFloodOfOwnRequestsLeavesOthersAnswered) {
  auto& thief = world_.begin();
  const auto undelivered = undelivered_of_audit();
  ASSERT_TRUE(thief.subscribe("_INBOX.two.thief.>", "answers"));
  static constexpr int kFlood = 20'000;
  for (int i = 0; i < kFlood; ++i) {
    const auto inbox = fmt::format("_INBOX.two.thief.{}", i);
    ASSERT_TRUE(thief.publish("$JS.API.CONSUMER.INFO.EVENTS.two_thief", "", inbox));
    ASSERT_TRUE(thief.publish("$JS.API.CONSUMER.MSG.NEXT.EVENTS.two_thief",
                              R"({"batch":1,"no_wait":true})", inbox));
  }
  ASSERT_TRUE(thief.sync(Milliseconds{60'000}));
  EXPECT_TRUE(call_is_answered());
  world_.emit("two.shop", kOrders, "during the flood");
  // A consumer learns of what its stream has stored a moment later.
  const os::Deadline deadline(Milliseconds{10'000});
  while (undelivered_of_audit() == undelivered && !deadline.passed()) {
  }
  EXPECT_EQ(undelivered_of_audit(), undelivered + 1);
}

TEST_P(Availability, AFloodOfOwnConnectionsEndsAtItsLimit) {
  std::vector<RawClient> connections;
  static constexpr int kFlood = 300;
  for (int i = 0; i < kFlood; ++i) {
    auto one = RawClient::connect(world_.server().port(), kThief, std::string("pw-of-") + kThief);
    if (!one || !one->sync()) {
      break;
    }
    connections.push_back(std::move(*one));
  }
  // 64 for each of its two instances; the watcher that is its sibling has one of them.
  EXPECT_LE(connections.size(), 128U);
  EXPECT_GE(connections.size(), 64U);
  EXPECT_TRUE(call_is_answered());
  world_.emit("two.shop", kOrders, "beside the flood");
}

// ASSURANCE.md, "guessable message ids".
TEST_P(Availability, AGuessedMessageIdSwallowsAndAKeyedOneDoesNot) {
  const auto header = [](const std::string& id) {
    return "NATS/1.0\r\nNats-Msg-Id: " + id + "\r\n\r\n";
  };
  world_.emit(kThief, kOwnEvent, "first", header("order-17"));
  const auto orders = stored(kOrders);
  world_.emit("two.shop", kOrders, "order 17", header("order-17"));
  EXPECT_EQ(stored(kOrders), orders)
      << "the server no longer shares its duplicate window: take the "
         "heading out of ASSURANCE.md";
  // The id that the contract asks for is keyed with bytes that the thief does not have.
  world_.emit("two.shop", kOrders, "order 17", header("p5cUrNc7GdJ0nTzuGpNTX8JYUqv1bQ0e"));
  EXPECT_EQ(stored(kOrders), orders + 1);
}

// ASSURANCE.md, "forged request info on 2.10".
TEST_P(Availability, TheLastRequestInfoNamesTheCaller) {
  auto& thief = world_.begin();
  ASSERT_TRUE(thief.publish_with_header(kTool,
                                        "NATS/1.0\r\nNats-Request-Info: {\"acc\":\"shop\"}\r\n\r\n",
                                        "{}", "_INBOX.two.thief.answer"));
  const auto call = world_.watcher("two.audit").next(Milliseconds{5000}, "mesh.mod.audit.tool.>");
  ASSERT_TRUE(call) << call.error().message;
  const auto last = call->header.rfind("Nats-Request-Info:");
  ASSERT_NE(last, std::string::npos);
  EXPECT_NE(call->header.find("\"acc\":\"thief\"", last), std::string::npos) << call->header;
}

INSTANTIATE_TEST_SUITE_P(Servers, Availability, testing::ValuesIn(server_versions()),
                         [](const auto& server) {
                           auto name = server.param;
                           std::ranges::replace_if(
                               name, [](char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

}  // namespace
}  // namespace mesh::test::escape
