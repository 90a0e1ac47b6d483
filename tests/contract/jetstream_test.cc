#include "bus/jetstream.h"

#include <gtest/gtest.h>

#include "tests/contract/servers.h"

namespace mesh::bus {
namespace {

using nlohmann::json;
using test::as;
using test::NatsServer;
using namespace std::chrono_literals;

json events_stream() {
  return {{"name", "EVENTS"},
          {"subjects", {"e.>"}},
          {"retention", "limits"},
          {"storage", "file"},
          {"max_consumers", 20000},
          {"num_replicas", 1},
          {"max_msgs_per_subject", 100},
          {"duplicate_window", 120'000'000'000}};
}

WantedConsumerConfig puller(const std::string& name, const std::string& filter) {
  return {"EVENTS",
          {{"name", name},
           {"ack_policy", "explicit"},
           {"deliver_policy", "all"},
           {"ack_wait", 30'000'000'000},
           {"max_deliver", 10},
           {"max_ack_pending", 1000},
           {"filter_subject", filter}}};
}

class JetStreamOn : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto server = NatsServer::start(GetParam(), test::kSmallServer);
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::make_unique<NatsServer>(*std::move(server));
    auto connection = Connection::connect(as(*server_, "admin"));
    ASSERT_TRUE(connection) << connection.error().message;
    connection_ = std::make_unique<Connection>(*std::move(connection));
    jetstream_ = std::make_unique<JetStream>(*connection_);
  }

  std::unique_ptr<NatsServer> server_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<JetStream> jetstream_;
};

TEST_P(JetStreamOn, SaysWhereItIsOff) {
  auto plain = Connection::connect(as(*server_, "plain"));
  ASSERT_TRUE(plain);
  const auto account = JetStream(*plain).account();
  ASSERT_FALSE(account);
  EXPECT_EQ(account.error().code, Code::Unsupported) << account.error().message;
  EXPECT_EQ(api_error_number(account.error()), 10039);
  const auto small = Connection::connect(as(*server_, "small"));
  auto user = Connection::connect(as(*server_, "small"));
  ASSERT_TRUE(user);
  EXPECT_EQ(JetStream(*user).account().error().code, Code::PermissionDenied);
}

TEST_P(JetStreamOn, KeepsStreams) {
  auto made = jetstream_->create_stream(events_stream());
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->config["max_consumers"], 20000);
  EXPECT_TRUE(jetstream_->create_stream(events_stream())) << "the same again";
  json other = events_stream();
  other["max_msgs_per_subject"] = 5;
  const auto refused = jetstream_->create_stream(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::Conflict);
  EXPECT_EQ(api_error_number(refused.error()), 10058);
  auto updated = jetstream_->update_stream(other);
  ASSERT_TRUE(updated) << updated.error().message;
  EXPECT_EQ(updated->config["max_msgs_per_subject"], 5);
  other["name"] = "OTHER";
  EXPECT_EQ(jetstream_->create_stream(other).error().code, Code::Conflict) << "subjects overlap";
  EXPECT_EQ(jetstream_->stream("NONE").error().code, Code::NotFound);
  EXPECT_EQ(jetstream_->stream("A.B").error().code, Code::InvalidArgument);
  const auto all = jetstream_->streams();
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 1U);
  EXPECT_EQ(all->front().name, "EVENTS");
  EXPECT_TRUE(jetstream_->delete_stream("EVENTS"));
  EXPECT_EQ(jetstream_->delete_stream("EVENTS").error().code, Code::NotFound);
  EXPECT_TRUE(jetstream_->streams()->empty());
}

TEST_P(JetStreamOn, RaisesConsumers) {
  ASSERT_TRUE(jetstream_->create_stream(events_stream()));
  const WantedConsumerConfig wanted = puller("one_audit", "e.order.>");
  auto echo = jetstream_->raise_consumer(wanted, Raise::Create);
  ASSERT_TRUE(echo) << echo.error().message;
  EXPECT_EQ(echo->name, "one_audit");
  EXPECT_EQ(echo->stream, "EVENTS");
  EXPECT_EQ(echo->config["filter_subject"], "e.order.>");
  EXPECT_EQ(echo->config["durable_name"], "one_audit");
  EXPECT_TRUE(jetstream_->raise_consumer(wanted, Raise::Create)) << "the same again";
  WantedConsumerConfig changed = wanted;
  changed.config["max_deliver"] = 5;
  auto refused = jetstream_->raise_consumer(changed, Raise::Create);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::Conflict);
  EXPECT_EQ(api_error_number(refused.error()), 10148);
  EXPECT_EQ(jetstream_->raise_consumer(changed, Raise::Update)->config["max_deliver"], 5);
  changed.config["name"] = "nobody";
  EXPECT_EQ(jetstream_->raise_consumer(changed, Raise::Update).error().code, Code::NotFound);
  EXPECT_EQ(jetstream_->consumer("EVENTS", "one_audit")->config["max_deliver"], 5);
  EXPECT_EQ(jetstream_->consumers("EVENTS")->size(), 1U);
  EXPECT_TRUE(jetstream_->delete_consumer("EVENTS", "one_audit"));
  EXPECT_EQ(jetstream_->delete_consumer("EVENTS", "one_audit").error().code, Code::NotFound);
  changed.config["name"] = "a.b";
  EXPECT_EQ(jetstream_->raise_consumer(changed, Raise::Create).error().code, Code::InvalidArgument);
}

TEST_P(JetStreamOn, KeepsSeveralFilters) {
  ASSERT_TRUE(jetstream_->create_stream(events_stream()));
  WantedConsumerConfig wanted = puller("one_audit", "");
  wanted.config.erase("filter_subject");
  wanted.config["filter_subjects"] = {"e.a", "e.b"};
  const auto echo = jetstream_->raise_consumer(wanted, Raise::Create);
  ASSERT_TRUE(echo) << echo.error().message;
  EXPECT_EQ(echo->config["filter_subjects"], wanted.config["filter_subjects"]);
}

TEST_P(JetStreamOn, TellsWhereAConsumerStands) {
  ASSERT_TRUE(jetstream_->create_stream(events_stream()));
  ASSERT_TRUE(jetstream_->raise_consumer(puller("one", "e.a"), Raise::Create));
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(jetstream_->store("e.a", std::to_string(i)));
  }
  const auto messages = jetstream_->pull("EVENTS", "one", 3, 0ms);
  ASSERT_TRUE(messages) << messages.error().message;
  ASSERT_EQ(messages->size(), 3U);
  EXPECT_EQ(messages->front().data, "0");
  ASSERT_TRUE(connection_->request(messages->front().reply, "+ACK", 5s));
  const auto state = jetstream_->consumer("EVENTS", "one");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->delivered, 3U);
  EXPECT_EQ(state->ack_floor, 1U);
  EXPECT_EQ(state->deliveries, 3U);
  EXPECT_EQ(state->ack_floor_deliveries, 1U);
  EXPECT_EQ(state->pending, 2U);
  EXPECT_EQ(state->ack_pending, 2U);
  EXPECT_EQ(jetstream_->consumers("EVENTS")->front().ack_floor, 1U);
  EXPECT_EQ(jetstream_->pull("EVENTS", "one", 10, 0ms)->size(), 2U);
  EXPECT_TRUE(jetstream_->pull("EVENTS", "one", 10, 100ms)->empty());
  const auto nobody = jetstream_->pull("EVENTS", "nobody", 10, 100ms);
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, Code::Unavailable);
}

TEST_P(JetStreamOn, WaitsForAMessage) {
  ASSERT_TRUE(jetstream_->create_stream(events_stream()));
  ASSERT_TRUE(jetstream_->raise_consumer(puller("one", "e.a"), Raise::Create));
  auto other = Connection::connect(as(*server_, "admin"));
  ASSERT_TRUE(other);
  // The pull that waits is heard by the other connection's subscription, which answers with work.
  auto seen =
      other->subscribe("$JS.API.CONSUMER.MSG.NEXT.EVENTS.one", "", [&](const Message& asked) {
        if (asked.data.find("expires") != std::string::npos) {
          EXPECT_TRUE(other->publish("e.a", "late"));
        }
      });
  ASSERT_TRUE(seen && other->flush(5s));
  const auto messages = jetstream_->pull("EVENTS", "one", 10, 20s);
  ASSERT_TRUE(messages) << messages.error().message;
  ASSERT_EQ(messages->size(), 1U);
  EXPECT_EQ(messages->front().data, "late");
}

TEST_P(JetStreamOn, StoresAndReadsMessages) {
  ASSERT_TRUE(jetstream_->create_stream(events_stream()));
  const std::string bytes("\x00\xff binary \r\n", 12);
  const auto stored = jetstream_->store("e.a", bytes, "id-1", {{"Cause", "a test: really"}});
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_EQ(stored->stream, "EVENTS");
  EXPECT_EQ(stored->sequence, 1U);
  EXPECT_FALSE(stored->duplicate);
  EXPECT_TRUE(jetstream_->store("e.a", bytes, "id-1")->duplicate);
  const auto read = jetstream_->message("EVENTS", 1);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->data, bytes);
  EXPECT_EQ(read->subject, "e.a");
  ASSERT_EQ(read->headers.size(), 2U);
  const Message headers{{}, {}, {}, read->headers, 0};
  EXPECT_EQ(headers.header("Cause"), "a test: really");
  EXPECT_EQ(headers.header("Nats-Msg-Id"), "id-1");
  ASSERT_TRUE(jetstream_->store("e.b", "second"));
  EXPECT_EQ(jetstream_->last_message("EVENTS", "e.b")->data, "second");
  const auto counted = jetstream_->stream("EVENTS", ">");
  ASSERT_TRUE(counted);
  EXPECT_EQ(counted->subjects, (std::map<std::string, std::uint64_t>{{"e.a", 1}, {"e.b", 1}}));
  EXPECT_EQ(counted->messages, 2U);
  EXPECT_TRUE(jetstream_->delete_message("EVENTS", 1));
  EXPECT_EQ(jetstream_->message("EVENTS", 1).error().code, Code::NotFound);
  EXPECT_EQ(jetstream_->purge("EVENTS", "e.b").value(), 1U);
  EXPECT_EQ(jetstream_->store("nobody.keeps.it", "").error().code, Code::Unavailable);
  const auto account = jetstream_->account();
  ASSERT_TRUE(account);
  EXPECT_EQ(account->streams, 1U);
}

TEST_P(JetStreamOn, RaisesManyAtOnceAndListsThemAll) {
  ASSERT_TRUE(jetstream_->create_stream(events_stream()));
  std::vector<WantedConsumerConfig> wanted;
  for (int i = 0; i < 600; ++i) {
    wanted.push_back(puller(fmt::format("n{:03}_m", i), fmt::format("e.m{}", i)));
  }
  wanted[5].config["ack_policy"] = "nonsense";
  wanted[6].config["name"] = "";
  std::size_t good = 0;
  std::vector<std::size_t> bad;
  jetstream_->raise_consumers(
      wanted, Raise::Create, [&](std::size_t index, const Result<ConsumerInfo>& echo) {
        if (echo && wanted[index].config["name"].get<std::string>() == echo->name) {
          ++good;
        } else {
          bad.push_back(index);
        }
      });
  EXPECT_EQ(good, 598U);
  std::sort(bad.begin(), bad.end());
  EXPECT_EQ(bad, (std::vector<std::size_t>{5, 6}));
  const auto all = jetstream_->consumers("EVENTS");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size(), 598U);
  EXPECT_TRUE(std::is_sorted(all->begin(), all->end(),
                             [](const auto& a, const auto& b) { return a.name < b.name; }));
}

INSTANTIATE_TEST_SUITE_P(Servers, JetStreamOn, testing::ValuesIn(test::server_versions()),
                         test::version_name);

}  // namespace
}  // namespace mesh::bus
