#include "controller/observe.h"

#include <gtest/gtest.h>

#include "bus/jetstream.h"
#include "controller/steps.h"
#include "tests/contract/servers.h"

namespace mesh::controller {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

class ObserveOn : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto server = test::NatsServer::start(GetParam(), test::kSmallServer);
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::make_unique<test::NatsServer>(*std::move(server));
    auto connection = bus::Connection::connect(test::as(*server_, "admin"));
    ASSERT_TRUE(connection) << connection.error().message;
    connection_ = std::make_unique<bus::Connection>(*std::move(connection));
    jetstream_ = std::make_unique<bus::JetStream>(*connection_);
    ASSERT_TRUE(jetstream_->create_stream({{"name", "E"}, {"subjects", {"e.>"}}}));
  }

  void emit(int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(jetstream_->store("e.x", "x"));
    }
  }

  void raise(const std::string& name, const json& start) {
    json config = {{"name", name}, {"ack_policy", "explicit"}, {"filter_subject", "e.x"}};
    config.update(start);
    ASSERT_TRUE(jetstream_->raise_consumer({"E", config}, bus::Raise::Create));
  }

  std::uint64_t floor_of(const std::string& name) {
    TimedSteps steps(20s);
    const auto observed = observe(*connection_, steps);
    EXPECT_TRUE(observed) << observed.error().message;
    return observed->consumer("E", name)->ack_floor.stream;
  }

  std::unique_ptr<test::NatsServer> server_;
  std::unique_ptr<bus::Connection> connection_;
  std::unique_ptr<bus::JetStream> jetstream_;
};

/// What is older than a consumer is none of its, though it has acknowledged nothing.
TEST_P(ObserveOn, AFloorIsNeverBeforeWhereTheConsumerStarted) {
  emit(5);
  raise("fresh", {{"deliver_policy", "new"}});
  raise("heard", {{"deliver_policy", "new"}});
  raise("third", {{"deliver_policy", "by_start_sequence"}, {"opt_start_seq", 3}});
  raise("all", {{"deliver_policy", "all"}});
  emit(3);
  for (const auto* name : {"heard", "third", "all"}) {
    const auto got = jetstream_->pull("E", name, 2, 5s);
    ASSERT_TRUE(got);
    ASSERT_EQ(got->size(), 2U);
  }
  EXPECT_EQ(floor_of("fresh"), 5U);
  EXPECT_EQ(floor_of("heard"), 5U);
  EXPECT_EQ(floor_of("third"), 2U);
  EXPECT_EQ(floor_of("all"), 0U);
}

INSTANTIATE_TEST_SUITE_P(Servers, ObserveOn, testing::ValuesIn(test::server_versions()),
                         test::version_name);

}  // namespace
}  // namespace mesh::controller
