#include "broker/objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/support/mesh_builder.h"

namespace mesh::broker {
namespace {

using nlohmann::json;
using testing::ElementsAre;

const WantedStream& stream(const Wanted& all, const std::string& name) {
  for (const auto& s : all.streams) {
    if (s.name == name) {
      return s;
    }
  }
  static const WantedStream kNone;
  ADD_FAILURE() << "no stream " << name;
  return kNone;
}

const WantedConsumer& consumer(const Wanted& all, const std::string& name) {
  for (const auto& c : all.consumers) {
    if (c.name == name) {
      return c;
    }
  }
  static const WantedConsumer kNone;
  ADD_FAILURE() << "no consumer " << name;
  return kNone;
}

TEST(Objects, AreThoseThatTheDeclarationsImply) {
  const auto all = wanted(test::shop_mesh(), "id");
  std::vector<std::string> names;
  for (const auto& s : all.streams) {
    names.push_back(s.name);
    EXPECT_EQ(s.config["metadata"]["mesh.id"], "id") << s.name;
    EXPECT_EQ(s.config["name"], s.name);
    EXPECT_GT(s.config["max_consumers"], 10'000) << s.name;
  }
  EXPECT_THAT(names, ElementsAre("ADVISORIES", "EVENTS", "NODES", "PARKED", "REPORTS",
                                 "SEAT_TELEGRAM_SENDER"));
  names.clear();
  for (const auto& c : all.consumers) {
    names.push_back(c.stream + "." + c.name);
    EXPECT_EQ(c.config["metadata"]["mesh.id"], "id") << c.name;
    EXPECT_EQ(c.config["durable_name"], c.name);
    EXPECT_FALSE(c.config.contains("backoff")) << c.name;
  }
  EXPECT_THAT(names, ElementsAre("EVENTS.two_audit", "EVENTS.two_shop", "NODES.one", "NODES.two",
                                 "SEAT_TELEGRAM_SENDER.SEAT_TELEGRAM_SENDER_worker"));
}

TEST(Objects, EventsKeepPerEventAndRefuseWhenTheDiskIsFull) {
  const auto config = stream(wanted(test::small_mesh(), "id"), "EVENTS").config;
  EXPECT_EQ(config["subjects"],
            json::array({"mesh.mod.*.event.>", "mesh.seat.*.event.>", "mesh.retry.>"}));
  EXPECT_EQ(config["max_age"], 604'800'000'000'000);
  EXPECT_EQ(config["max_msgs_per_subject"], 10000);
  EXPECT_EQ(config["max_msg_size"], 65536);
  EXPECT_EQ(config["max_bytes"], 8'589'934'592);
  EXPECT_EQ(config["discard"], "new");
  EXPECT_EQ(config["duplicate_window"], 120'000'000'000);
  EXPECT_EQ(config["storage"], "file");
}

TEST(Objects, TheDuplicateWindowIsNeverLongerThanWhatIsKept) {
  auto mesh = test::small_mesh();
  mesh.events.keep = std::chrono::minutes(1);
  EXPECT_EQ(stream(wanted(mesh, "id"), "EVENTS").config["duplicate_window"], 60'000'000'000);
}

TEST(Objects, DenialsStandOnEventsAndAdvisoriesAlone) {
  for (const auto& s : wanted(test::shop_mesh(), "id").streams) {
    const bool denied = s.name == "EVENTS" || s.name == "ADVISORIES";
    EXPECT_EQ(s.config["deny_delete"], denied) << s.name;
    EXPECT_EQ(s.config["deny_purge"], denied) << s.name;
    EXPECT_EQ(s.config["storage"], s.name == "REPORTS" ? "memory" : "file") << s.name;
    EXPECT_FALSE(s.config["allow_rollup_hdrs"]) << s.name;
    EXPECT_FALSE(s.config["allow_direct"]) << s.name;
  }
}

TEST(Objects, MachinesStreamsKeepTheLastOfEach) {
  const auto all = wanted(test::small_mesh(), "id");
  EXPECT_EQ(stream(all, "NODES").config["subjects"], json::array({"mesh.node.*.declare"}));
  EXPECT_EQ(stream(all, "NODES").config["max_msgs_per_subject"], 4);
  EXPECT_EQ(stream(all, "REPORTS").config["max_msgs_per_subject"], 1);
  const auto& node = consumer(all, "one").config;
  EXPECT_EQ(node["deliver_subject"], "_DELIVER.one");
  EXPECT_EQ(node["filter_subject"], "mesh.node.one.declare");
  EXPECT_EQ(node["deliver_policy"], "last_per_subject");
}

TEST(Objects, AnInstancesConsumerIsPulledAndHasItsRetries) {
  const auto c = consumer(wanted(test::small_mesh(), "id"), "two_audit");
  EXPECT_EQ(c.stream, "EVENTS");
  EXPECT_EQ(c.module, "audit");
  EXPECT_EQ(c.config["filter_subjects"],
            json::array({"mesh.mod.shop.event.order.placed", "mesh.retry.two.audit.>"}));
  EXPECT_EQ(c.config["ack_policy"], "explicit");
  EXPECT_EQ(c.config["ack_wait"], 30'000'000'000);
  EXPECT_EQ(c.config["max_deliver"], 10);
  EXPECT_EQ(c.config["max_ack_pending"], 1000);
  EXPECT_EQ(c.config["metadata"]["mesh.backoff"], "1s,5s,30s,120s,600s");
  EXPECT_FALSE(c.config.contains("deliver_subject"));
  EXPECT_FALSE(c.config.contains("deliver_policy"));
}

TEST(Objects, ASeatIsAWorkQueuePushedToOneHolder) {
  const auto all = wanted(test::small_mesh(), "id");
  const auto& s = stream(all, "SEAT_TELEGRAM_SENDER").config;
  EXPECT_EQ(s["subjects"], json::array({"mesh.seat.telegram-sender.accept.>"}));
  EXPECT_EQ(s["retention"], "workqueue");
  EXPECT_EQ(s["max_bytes"], 1'073'741'824);
  EXPECT_EQ(s["discard"], "new");
  EXPECT_FALSE(s.contains("sources"));
  const auto& c = consumer(all, "SEAT_TELEGRAM_SENDER_worker").config;
  EXPECT_EQ(c["deliver_subject"], "_DELIVER.SEAT_TELEGRAM_SENDER_worker");
  EXPECT_EQ(c["deliver_group"], "SEAT_TELEGRAM_SENDER_worker");
}

TEST(Objects, ASeatThatNobodyHoldsHasAStreamAndNoWorker) {
  const auto all = wanted(test::MeshBuilder().seat("mail", {"send"}).mesh(), "id");
  EXPECT_EQ(stream(all, "SEAT_MAIL").config["max_bytes"], 1'073'741'824);
  EXPECT_TRUE(all.consumers.empty());
}

TEST(Objects, TheEventsThatFeedASeatAreOneSource) {
  const auto mesh = test::MeshBuilder()
                        .node("one")
                        .seat("mail", {"send", "log"}, {"sent"})
                        .from("send", {"shop.order.placed", "shop.order.gone"})
                        .from("log", {"other-seat:done"})
                        .mesh();
  const auto expected = json::parse(R"([
    {"name": "EVENTS", "subject_transforms": [
      {"src": "mesh.mod.shop.event.order.gone", "dest": "mesh.seat.mail.accept.send"},
      {"src": "mesh.mod.shop.event.order.placed", "dest": "mesh.seat.mail.accept.send"},
      {"src": "mesh.seat.other-seat.event.done", "dest": "mesh.seat.mail.accept.log"}]}])");
  EXPECT_EQ(stream(wanted(mesh, "id"), "SEAT_MAIL").config["sources"], expected);
}

TEST(Objects, AConsumerStartsAtTheEarliestOfItsEvents) {
  using std::chrono::hours;
  using FromKind = model::From::Kind;
  const model::From fresh{};
  const model::From all{FromKind::All, {}};
  const model::From hour{FromKind::Age, hours(1)};
  const model::From day{FromKind::Age, hours(24)};
  EXPECT_EQ(earliest(fresh, hour).kind, FromKind::Age);
  EXPECT_EQ(earliest(day, hour).age, hours(24));
  EXPECT_EQ(earliest(hour, day).age, hours(24));
  EXPECT_EQ(earliest(all, day).kind, FromKind::All);
  const auto mesh = test::MeshBuilder()
                        .node("one")
                        .module("m", {"one"})
                        .emits("a")
                        .emits("b")
                        .consumes("m.a")
                        .consumes("m.b", hour)
                        .mesh();
  EXPECT_EQ(consumer(wanted(mesh, "id"), "one_m").from.age, hours(1));
}

}  // namespace
}  // namespace mesh::broker
