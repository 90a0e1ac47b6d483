#include "plan/bus_plan.h"

#include <gtest/gtest.h>

#include <random>

#include "plan/config_diff.h"

namespace mesh::plan {
namespace {

using nlohmann::json;

const std::string kOurs = "0123456789abcdef0123456789abcdef";

json instance_config(const std::string& name, std::vector<std::string> filters) {
  return {{"durable_name", name},       {"name", name},
          {"ack_policy", "explicit"},   {"ack_wait", 31'000'000'000},
          {"max_deliver", 10},          {"max_ack_pending", 1000},
          {"filter_subjects", filters}, {"metadata", {{"mesh.id", kOurs}}}};
}

broker::WantedConsumer instance(const std::string& node, const std::string& module,
                                std::vector<std::string> filters = {"mesh.mod.shop.event.a"}) {
  broker::WantedConsumer out;
  out.stream = "EVENTS";
  out.name = node + "_" + module;
  out.module = module;
  out.config = instance_config(out.name, std::move(filters));
  out.because.text = module + " consumes";
  return out;
}

broker::WantedStream events() {
  return {"EVENTS",
          {{"name", "EVENTS"},
           {"subjects", {"mesh.retry.>", "mesh.mod.*.event.>"}},
           {"max_age", 1000},
           {"deny_delete", true},
           {"metadata", {{"mesh.id", kOurs}}}},
          {"always", {}}};
}

/// Answers as nats-server does: spells out defaults, adds its own metadata, sorts nothing.
class Bus {
 public:
  Observed observed;

  void apply(const std::vector<Change>& changes) {
    for (const auto& change : changes) {
      for (const auto& operation : change.operations) {
        apply(operation);
      }
    }
    for (const auto& change : changes) {
      for (const auto& operation : change.cleanup) {
        apply(operation);
      }
    }
  }

  void apply(const Operation& operation) {
    auto config = operation.config;
    const auto of_stream = [&](const auto& x) { return x.stream == operation.stream; };
    const auto is_stream = [&](const auto& x) { return x.name == operation.stream; };
    const auto is_consumer = [&](const auto& x) {
      return of_stream(x) && x.name == operation.consumer;
    };
    switch (operation.request) {
      case Request::DeleteStream:
        std::erase_if(observed.streams, is_stream);
        std::erase_if(observed.consumers, of_stream);
        break;
      case Request::DeleteConsumer:
        std::erase_if(observed.consumers, is_consumer);
        break;
      case Request::CreateStream:
        ASSERT_EQ(observed.stream(operation.stream), nullptr);
        observed.streams.push_back({operation.stream, echo_stream(config), 0, 0, 0, 0});
        break;
      case Request::UpdateStream:
        for (auto& stream : observed.streams) {
          if (is_stream(stream)) {
            stream.config = echo_stream(config);
          }
        }
        break;
      case Request::CreateConsumer:
      case Request::UpdateConsumer: {
        ASSERT_NE(observed.stream(operation.stream), nullptr);
        ObservedConsumer made;
        made.stream = operation.stream;
        made.name = operation.consumer;
        made.config = echo_consumer(config);
        std::erase_if(observed.consumers, is_consumer);
        observed.consumers.push_back(made);
        break;
      }
    }
    observed.sort();
  }

 private:
  static json echo_stream(json config) {
    const json defaults = {{"retention", "limits"}, {"max_bytes", -1},
                           {"num_replicas", 1},     {"sealed", false},
                           {"compression", "none"}, {"consumer_limits", json::object()},
                           {"max_msgs", -1},        {"duplicate_window", 120'000'000'000},
                           {"storage", "file"}};
    for (const auto& [key, value] : defaults.items()) {
      if (!config.contains(key)) {
        config[key] = value;
      }
    }
    config["metadata"]["_nats.ver"] = "2.15.1";
    return config;
  }

  static json echo_consumer(json config) {
    config["max_waiting"] = 512;
    config["replay_policy"] = "instant";
    config["num_replicas"] = 0;
    config["metadata"]["_nats.level"] = "5";
    return config;
  }
};

Hints hints() {
  Hints out;
  out.mesh_id = kOurs;
  return out;
}

std::vector<std::string> names_of(const std::vector<Change>& changes) {
  std::vector<std::string> out;
  for (const auto& change : changes) {
    out.push_back(std::string(action_name(change.action)) + " " + change.name);
  }
  return out;
}

std::vector<Change> planned(const broker::Wanted& wanted, const Observed& observed,
                            const Hints& hints = plan::hints()) {
  auto plan = bus_plan(wanted, observed, hints);
  EXPECT_TRUE(plan.has_value()) << (plan ? "" : plan.error().message);
  return plan ? *plan : std::vector<Change>();
}

/// A bus that holds what `wanted` says.
Bus raised(const broker::Wanted& wanted) {
  Bus bus;
  bus.apply(planned(wanted, bus.observed));
  return bus;
}

using Lines = std::vector<std::string>;

TEST(BusPlan, RaisesWhatIsMissingAndNothingTwice) {
  const broker::Wanted wanted{{events()}, {instance("one", "audit")}};
  Bus bus;
  const auto first = planned(wanted, bus.observed);
  EXPECT_EQ(names_of(first), (Lines{"create EVENTS", "create EVENTS.one_audit"}));
  // The stream comes with this push, so its first messages are not to be missed.
  EXPECT_EQ(first[1].operations[0].config["deliver_policy"], "all");
  bus.apply(first);
  EXPECT_EQ(names_of(planned(wanted, bus.observed)), Lines());
}

TEST(BusPlan, StartsWhereItWasDeclared) {
  auto bus = raised({{events()}, {}});
  auto consumer = instance("one", "audit");
  const auto start = [&](model::From from) {
    consumer.from = from;
    auto hints = plan::hints();
    hints.now = std::chrono::sys_time<std::chrono::seconds>{std::chrono::seconds{86400}};
    return planned({{events()}, {consumer}}, bus.observed, hints).at(0).operations.at(0).config;
  };
  EXPECT_EQ(start({})["deliver_policy"], "new");
  EXPECT_EQ(start({model::From::Kind::All, {}})["deliver_policy"], "all");
  const auto aged = start({model::From::Kind::Age, std::chrono::hours{1}});
  EXPECT_EQ(aged["deliver_policy"], "by_start_time");
  EXPECT_EQ(aged["opt_start_time"], "1970-01-01T23:00:00Z");
}

TEST(BusPlan, UpdatesInPlaceAndKeepsWhereItStarted) {
  const auto before = instance("one", "audit");
  auto bus = raised({{events()}, {before}});
  auto after = before;
  after.config["ack_wait"] = 5;
  const auto plan = planned({{events()}, {after}}, bus.observed);
  ASSERT_EQ(names_of(plan), Lines{"update EVENTS.one_audit"});
  EXPECT_EQ(plan[0].operations[0].request, Request::UpdateConsumer);
  EXPECT_EQ(plan[0].operations[0].config["deliver_policy"], "all");
  EXPECT_TRUE(plan[0].needs_yes.empty());
}

TEST(BusPlan, CountsTheMessagesThatAWidenedFilterSkips) {
  auto bus = raised({{events()}, {instance("one", "audit")}});
  bus.observed.consumers[0].delivered.stream = 40;
  const broker::Wanted wider{
      {events()}, {instance("one", "audit", {"mesh.mod.shop.event.a", "mesh.mod.shop.event.b"})}};
  const auto asked = questions(wider, bus.observed);
  ASSERT_EQ(asked, (std::vector<Matching>{{"EVENTS", "mesh.mod.shop.event.b", 40}}));
  auto hints = plan::hints();
  hints.matching[asked[0]] = 7;
  const auto plan = planned(wider, bus.observed, hints);
  ASSERT_EQ(names_of(plan), Lines{"update EVENTS.one_audit"});
  EXPECT_EQ(plan[0].skipped, 7U);
  EXPECT_EQ(plan[0].redelivered, 0U);
}

TEST(BusPlan, AModuleThatMovesTakesItsPlaceAlong) {
  auto bus = raised({{events()}, {instance("one", "audit")}});
  bus.observed.consumers[0].ack_floor = {40, 10};
  bus.observed.consumers[0].delivered = {50, 13};
  bus.observed.consumers[0].waiting = 4;
  const auto plan = planned({{events()}, {instance("two", "audit")}}, bus.observed);
  ASSERT_EQ(names_of(plan), Lines{"move EVENTS.two_audit"});
  EXPECT_EQ(plan[0].redelivered, 3U);
  EXPECT_EQ(plan[0].skipped, 0U);
  EXPECT_TRUE(plan[0].needs_yes.empty());
  EXPECT_EQ(plan[0].operations[0].config["opt_start_seq"], 41);
  ASSERT_EQ(plan[0].cleanup.size(), 1U);
  EXPECT_EQ(plan[0].cleanup[0].consumer, "one_audit");
}

TEST(BusPlan, AMoveThatWasCutOffIsFinishedUnasked) {
  auto bus = raised({{events()}, {instance("one", "audit")}});
  bus.observed.consumers[0].ack_floor = {40, 10};
  bus.observed.consumers[0].waiting = 4;
  const broker::Wanted wanted{{events()}, {instance("two", "audit")}};
  const auto cut_off = planned(wanted, bus.observed);
  bus.apply(cut_off.at(0).operations.at(0));
  const auto plan = planned(wanted, bus.observed);
  ASSERT_EQ(names_of(plan), Lines{"delete EVENTS.one_audit"});
  EXPECT_TRUE(plan[0].needs_yes.empty());
}

TEST(BusPlan, AnotherNodeStartsAtTheLeastFloor) {
  auto bus = raised({{events()}, {instance("one", "audit"), instance("two", "audit")}});
  bus.observed.consumers[0].ack_floor = {40, 10};
  bus.observed.consumers[1].ack_floor = {30, 8};
  const auto plan =
      planned({{events()},
               {instance("one", "audit"), instance("three", "audit"), instance("two", "audit")}},
              bus.observed);
  ASSERT_EQ(names_of(plan), Lines{"create EVENTS.three_audit"});
  EXPECT_EQ(plan[0].operations[0].config["opt_start_seq"], 31);
}

TEST(BusPlan, ReplacesWhatCannotBeChangedAndAsksFirst) {
  auto bus = raised({{events()}, {instance("one", "audit")}});
  bus.observed.consumers[0].config["ack_policy"] = "all";
  bus.observed.consumers[0].ack_floor = {40, 10};
  bus.observed.consumers[0].delivered = {42, 12};
  bus.observed.consumers[0].unacknowledged = 2;
  const broker::Wanted wanted{{events()}, {instance("one", "audit")}};
  const auto plan = planned(wanted, bus.observed);
  ASSERT_EQ(names_of(plan), Lines{"replace EVENTS.one_audit"});
  EXPECT_EQ(plan[0].redelivered, 2U);
  EXPECT_FALSE(plan[0].needs_yes.empty());
  EXPECT_EQ(plan[0].operations[1].config["opt_start_seq"], 41);

  // Killed between the two: the floor comes from the records.
  auto hints = plan::hints();
  hints.floors = floors_at_risk(plan, bus.observed);
  bus.apply(plan[0].operations[0]);
  const auto rest = planned(wanted, bus.observed, hints);
  ASSERT_EQ(names_of(rest), Lines{"create EVENTS.one_audit"});
  EXPECT_EQ(rest[0].operations[0].config["opt_start_seq"], 41);
}

TEST(BusPlan, AStreamThatMustBeReplacedTakesItsConsumersAlong) {
  auto bus = raised({{events()}, {instance("one", "audit")}});
  bus.observed.streams[0].config["storage"] = "memory";
  bus.observed.streams[0].messages = 5;
  const broker::Wanted wanted{{events()}, {instance("one", "audit")}};
  const auto plan = planned(wanted, bus.observed);
  EXPECT_EQ(names_of(plan), (Lines{"replace EVENTS", "create EVENTS.one_audit"}));
  EXPECT_NE(plan[0].needs_yes.find("5 messages"), std::string::npos);
  bus.apply(plan);
  EXPECT_EQ(names_of(planned(wanted, bus.observed)), Lines());
}

TEST(BusPlan, RemovesItsOwnAndAsksWhereMessagesAreLost) {
  auto seat = events();
  seat.name = "SEAT_X";
  seat.config["name"] = "SEAT_X";
  auto bus = raised({{events(), seat}, {instance("one", "audit"), instance("one", "shop")}});
  bus.observed.consumers[0].waiting = 1;
  bus.observed.streams[1].messages = 3;
  const auto plan = planned({{events()}, {}}, bus.observed);
  EXPECT_EQ(names_of(plan),
            (Lines{"delete EVENTS.one_audit", "delete EVENTS.one_shop", "delete SEAT_X"}));
  EXPECT_FALSE(plan[0].needs_yes.empty());
  EXPECT_TRUE(plan[1].needs_yes.empty());
  EXPECT_FALSE(plan[2].needs_yes.empty());
  EXPECT_EQ(plan[2].skipped, 3U);
}

TEST(BusPlan, TouchesNothingThatMeshDidNotMake) {
  auto bus = raised({{events()}, {}});
  bus.observed.streams.push_back({"ORDERS", {{"name", "ORDERS"}}, 9, 0, 0, 0});
  bus.observed.consumers.push_back({"EVENTS", "mine", {{"durable_name", "mine"}}, {}, {}, 3, 0});
  bus.observed.sort();
  EXPECT_EQ(names_of(planned({{events()}, {}}, bus.observed)), Lines());
}

TEST(BusPlan, RefusesOurNamesWithoutOurMark) {
  Bus bus;
  bus.observed.streams.push_back({"EVENTS", {{"name", "EVENTS"}, {"max_age", 5}}, 9, 0, 0, 0});
  const broker::Wanted wanted{{events()}, {}};
  const auto refused = bus_plan(wanted, bus.observed, hints());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::Conflict);
  auto adopting = hints();
  adopting.adopt = true;
  EXPECT_EQ(names_of(planned(wanted, bus.observed, adopting)), Lines{"update EVENTS"});
}

TEST(BusPlan, NamesTheStreamThatStandsInTheWay) {
  Bus bus;
  bus.observed.streams.push_back(
      {"ORDERS", {{"name", "ORDERS"}, {"subjects", {"mesh.mod.shop.>"}}}, 0, 0, 0, 0, {}});
  const auto refused = bus_plan({{events()}, {}}, bus.observed, hints());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::Conflict);
  EXPECT_NE(refused.error().message.find("ORDERS"), std::string::npos);
}

TEST(BusPlan, RefusesAnotherMeshWhereverItIs) {
  Bus bus;
  bus.observed.streams.push_back(
      {"OTHER", {{"name", "OTHER"}, {"metadata", {{"mesh.id", "fedc"}}}}, 0, 0, 0, 0});
  auto adopting = hints();
  adopting.adopt = true;
  const auto refused = bus_plan({{events()}, {}}, bus.observed, adopting);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::Conflict);
  EXPECT_NE(refused.error().message.find("fedc"), std::string::npos);
}

TEST(BusPlan, ASourceStartsNowAndStaysThere) {
  auto bus = raised({{events()}, {}});
  bus.observed.streams[0].last = 99;
  bus.observed.streams[0].last_time = "2026-02-03T04:05:06.70809Z";
  auto seat = events();
  seat.name = "SEAT_X";
  seat.config["name"] = "SEAT_X";
  const json source = {{"name", "EVENTS"},
                       {"subject_transforms", {{{"src", "mesh.mod.a.event.b"}, {"dest", "c"}}}}};
  seat.config["sources"] = json::array({source});
  const auto plan = planned({{events(), seat}, {}}, bus.observed);
  ASSERT_EQ(names_of(plan), Lines{"create SEAT_X"});
  EXPECT_EQ(plan[0].operations[0].config["sources"][0]["opt_start_time"],
            "2026-02-03T04:05:06.708090001Z");
  bus.apply(plan);
  bus.observed.streams[0].last = 200;
  EXPECT_EQ(names_of(planned({{events(), seat}, {}}, bus.observed)), Lines());
  seat.config["max_age"] = 7;
  const auto update = planned({{events(), seat}, {}}, bus.observed);
  EXPECT_EQ(update.at(0).operations.at(0).config["sources"][0]["opt_start_time"],
            "2026-02-03T04:05:06.708090001Z");
}

// From anything to anything: one plan is enough, the second is empty, and the order of what is
// given never matters.
TEST(BusPlanProperty, OnePlanConverges) {
  std::mt19937 random(20261130);
  const auto pick = [&](int most) {
    return static_cast<int>(random() % (static_cast<unsigned>(most) + 1U));
  };
  const auto some_mesh = [&] {
    broker::Wanted wanted{{events()}, {}};
    wanted.streams[0].config["max_age"] = 1000 + pick(1);
    for (const auto* node : {"one", "three", "two"}) {
      for (const auto* module : {"audit", "shop", "web"}) {
        if (pick(1) == 0) {
          std::vector<std::string> filters = {"mesh.mod.shop.event.a"};
          if (pick(2) == 0) {
            filters.emplace_back("mesh.mod.shop.event.b");
          }
          wanted.consumers.push_back(instance(node, module, filters));
          wanted.consumers.back().config["max_deliver"] = 9 + pick(1);
        }
      }
    }
    return wanted;
  };
  Bus bus;
  for (int round = 0; round < 1000; ++round) {
    const auto wanted = some_mesh();
    const auto plan = planned(wanted, bus.observed);
    auto shuffled = wanted;
    std::shuffle(shuffled.consumers.begin(), shuffled.consumers.end(), random);
    auto other = names_of(planned(shuffled, bus.observed));
    auto sorted = names_of(plan);
    std::sort(other.begin(), other.end());
    std::sort(sorted.begin(), sorted.end());
    ASSERT_EQ(other, sorted);
    bus.apply(plan);
    ASSERT_EQ(names_of(planned(wanted, bus.observed)), Lines()) << "round " << round;
    ASSERT_EQ(bus.observed.consumers.size(), wanted.consumers.size());
    for (auto& consumer : bus.observed.consumers) {
      consumer.ack_floor = {static_cast<std::uint64_t>(pick(50)), 0};
    }
    if (pick(9) == 0 && !bus.observed.consumers.empty()) {
      bus.observed.consumers[0].config["replay_policy"] = "original";
    }
  }
}

TEST(ConfigDiff, ForgivesOnlyWhatTheServerAdds) {
  const json asked = instance_config("one_a", {"b", "a"});
  auto echo = asked;
  echo["filter_subjects"] = {"a", "b"};
  echo["max_waiting"] = 512;
  echo["some_new_field"] = "x";
  echo["metadata"]["_nats.ver"] = "2.15.1";
  echo["deliver_policy"] = "new";
  EXPECT_EQ(consumer_differences(asked, echo), std::vector<std::string>());
  for (const auto* field : {"filter_subjects", "metadata", "ack_wait"}) {
    auto dropped = echo;
    dropped.erase(field);
    EXPECT_EQ(consumer_differences(asked, dropped), std::vector<std::string>{field});
  }
  auto extra = echo;
  extra["headers_only"] = true;
  EXPECT_EQ(consumer_differences(asked, extra), std::vector<std::string>{"headers_only"});
}

TEST(ConfigDiff, OneFilterIsOneFilterHoweverWritten) {
  const json single = {{"durable_name", "a"}, {"filter_subject", "x"}};
  const json list = {{"durable_name", "a"}, {"filter_subjects", {"x"}}};
  EXPECT_TRUE(consumer_differences(single, list).empty());
  EXPECT_TRUE(consumer_differences(list, single).empty());
}

TEST(ConfigDiff, AnEchoMustHoldTheStart) {
  json asked = instance_config("one_a", {"a"});
  asked["deliver_policy"] = "by_start_sequence";
  asked["opt_start_seq"] = 7;
  EXPECT_TRUE(echo_differences(asked, asked).empty());
  auto echo = asked;
  echo["opt_start_seq"] = 1;
  EXPECT_EQ(echo_differences(asked, echo), std::vector<std::string>{"opt_start_seq"});
}

}  // namespace
}  // namespace mesh::plan
