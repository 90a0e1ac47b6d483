#include <gtest/gtest.h>

#include "base/text.h"
#include "os/process.h"
#include "tests/system/push_world.h"

/// Pushes against a real managed server of each version.
namespace mesh {
namespace {

using controller::PushOptions;
using test::CountingSteps;
using test::PushWorld;

constexpr const char* kMesh = R"(mesh = "home"
[nodes.one]
[nodes.two]
[seats.telegram-sender]
accepts = ["send"]
emits = ["delivered", "failed"]
[modules.telegram]
path = "modules/telegram"
on = ["one"]
[modules.shop]
path = "modules/shop"
on = ["two"]
[modules.audit]
path = "modules/audit"
on = ["two"]
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  if (at == std::string::npos) {
    throw std::runtime_error("no " + from);
  }
  return text.replace(at, from.size(), to);
}

class PushTest : public testing::TestWithParam<std::string> {
 protected:
  PushTest() : world(GetParam(), kMesh) {
    world.write("modules/telegram/module.toml", "holds = [\"telegram-sender\"]\n");
    world.write("modules/shop/module.toml",
                "emits = [\"order.placed\", \"order.paid\"]\nuses = [\"telegram-sender.send\"]\n");
    world.write("modules/audit/module.toml", "consumes = [\"shop.order.placed\"]\n");
    world.start();
  }

  /// A push that must succeed.
  controller::PushReport pushed(PushOptions options = {}) {
    auto report = world.push(std::move(options));
    EXPECT_TRUE(report.has_value())
        << (report ? "" : report.error().message + " / " + report.error().hint);
    return report ? *report : controller::PushReport();
  }

  /// An order is placed, as the shop does it.
  void place_orders(int count, const std::string& event = "order.placed") {
    auto shop = world.as("two.shop");
    ASSERT_TRUE(shop.has_value()) << shop.error().message;
    for (int i = 0; i < count; ++i) {
      const auto stored =
          shop->request("mesh.mod.shop.event." + event, "{}", bus::Milliseconds{5000});
      ASSERT_TRUE(stored.has_value()) << stored.error().message;
    }
  }

  /// The auditor takes and acknowledges.
  std::size_t audited(const std::string& instance, std::size_t most, bool acknowledge = true) {
    auto auditor = world.as(instance);
    if (!auditor) {
      ADD_FAILURE() << auditor.error().message;
      return 0;
    }
    bus::JetStream jetstream(*auditor);
    auto consumer = instance;
    std::ranges::replace(consumer, '.', '_');
    const auto got = jetstream.pull("EVENTS", consumer, most, bus::Milliseconds{1000});
    if (!got) {
      ADD_FAILURE() << got.error().message;
      return 0;
    }
    for (const auto& message : *got) {
      if (acknowledge) {
        const auto done = auditor->request(message.reply, "+ACK", bus::Milliseconds{5000});
        EXPECT_TRUE(done.has_value());
      }
    }
    return got->size();
  }

  PushWorld world;
};

const plan::Change* find(const std::vector<plan::Change>& changes, const std::string& name) {
  const auto found = std::ranges::find(changes, name, &plan::Change::name);
  return found == changes.end() ? nullptr : &*found;
}

TEST_P(PushTest, RaisesTheBusAndWritesNothingTwice) {
  const auto first = pushed();
  EXPECT_EQ(first.number, 1);
  EXPECT_TRUE(first.reloaded);
  EXPECT_EQ(first.machines, 2U);
  EXPECT_EQ(first.modules, 1U);
  EXPECT_GT(first.writes, 0U);

  const auto config = world.config_text();
  const auto second = pushed();
  EXPECT_EQ(second.number, 1);
  EXPECT_TRUE(second.changes.empty()) << plan::to_text(second.changes.front());
  EXPECT_EQ(second.writes, 0U);
  EXPECT_FALSE(second.reloaded);
  EXPECT_EQ(world.config_text(), config);
}

TEST_P(PushTest, WhatIsDeclaredFlows) {
  (void)pushed();
  place_orders(3);
  EXPECT_EQ(audited("two.audit", 10), 3U);
  EXPECT_EQ(audited("two.audit", 10), 0U);
}

TEST_P(PushTest, APlanIsDoneExactlyOrNotAtAll) {
  const auto plan = world.plan();
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_EQ(plan->number, 1);
  world.write("modules/audit/module.toml", "consumes = [\"shop.order.paid\"]\n");
  PushOptions options;
  options.digest = plan->digest;
  const auto refused = world.push(options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::Conflict);
  EXPECT_TRUE(world.jetstream().streams()->empty());

  const auto again = world.plan();
  ASSERT_TRUE(again.has_value());
  options.digest = again->digest;
  const auto report = pushed(options);
  EXPECT_EQ(report.digest, again->digest);
  EXPECT_EQ(report.number, again->number);
}

TEST_P(PushTest, UsersThatDidNotChangeStayConnected) {
  (void)pushed();
  auto shop = world.as("two.shop");
  ASSERT_TRUE(shop.has_value());
  world.write("modules/audit/module.toml",
              "consumes = [\"shop.order.placed\", \"shop.order.paid\"]\n");
  const auto report = pushed();
  EXPECT_TRUE(report.reloaded);
  EXPECT_EQ(report.number, 2);
  EXPECT_TRUE(shop->is_connected());
  EXPECT_TRUE(
      shop->request("mesh.mod.shop.event.order.placed", "{}", bus::Milliseconds{5000}).has_value());
}

TEST_P(PushTest, AWidenedFilterTellsWhatItSkips) {
  (void)pushed();
  place_orders(2, "order.paid");
  place_orders(1);
  EXPECT_EQ(audited("two.audit", 10), 1U);  // it has come past the two
  place_orders(1, "order.paid");
  world.write("modules/audit/module.toml",
              "consumes = [\"shop.order.placed\", \"shop.order.paid\"]\n");
  const auto report = pushed();
  const auto* change = find(report.changes, "EVENTS.two_audit");
  ASSERT_NE(change, nullptr);
  EXPECT_EQ(change->action, plan::Action::Update);
  EXPECT_EQ(change->skipped, 2U);
  place_orders(1, "order.paid");
  EXPECT_EQ(audited("two.audit", 10), 2U);  // all but the skipped
}

TEST_P(PushTest, AMovedModuleGoesOnWhereItWas) {
  (void)pushed();
  place_orders(5);
  EXPECT_EQ(audited("two.audit", 2), 2U);
  EXPECT_EQ(audited("two.audit", 1, false), 1U);
  world.declare(replaced(kMesh, "path = \"modules/audit\"\non = [\"two\"]",
                         "path = \"modules/audit\"\non = [\"one\"]"));
  const auto report = pushed();
  const auto* change = find(report.changes, "EVENTS.one_audit");
  ASSERT_NE(change, nullptr);
  EXPECT_EQ(change->action, plan::Action::Move);
  EXPECT_EQ(change->redelivered, 1U);
  EXPECT_EQ(change->skipped, 0U);
  EXPECT_EQ(audited("one.audit", 10), 3U);
  EXPECT_FALSE(world.jetstream().consumer("EVENTS", "two_audit").has_value());
  EXPECT_FALSE(world.as("two.audit").has_value());
  EXPECT_TRUE(pushed().changes.empty());
}

TEST_P(PushTest, WhatHoldsMessagesGoesOnlyWithYes) {
  (void)pushed();
  place_orders(1);
  world.write("modules/audit/module.toml", "");
  const auto refused = world.push();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::Conflict);
  EXPECT_TRUE(world.jetstream().consumer("EVENTS", "two_audit").has_value());
  PushOptions yes;
  yes.yes = true;
  (void)pushed(yes);
  EXPECT_FALSE(world.jetstream().consumer("EVENTS", "two_audit").has_value());
}

TEST_P(PushTest, AConsumerThatCannotBeChangedIsReplaced) {
  (void)pushed();
  place_orders(3);
  EXPECT_EQ(audited("two.audit", 1), 1U);
  auto jetstream = world.jetstream();
  auto config = jetstream.consumer("EVENTS", "two_audit")->config;
  ASSERT_TRUE(jetstream.delete_consumer("EVENTS", "two_audit").has_value());
  config["ack_policy"] = "all";
  config["deliver_policy"] = "all";
  config.erase("opt_start_seq");
  ASSERT_TRUE(jetstream.raise_consumer({"EVENTS", config}, bus::Raise::Create).has_value());
  PushOptions yes;
  yes.yes = true;
  const auto report = pushed(yes);
  const auto* change = find(report.changes, "EVENTS.two_audit");
  ASSERT_NE(change, nullptr);
  EXPECT_EQ(change->action, plan::Action::Replace);
  EXPECT_EQ(audited("two.audit", 10), 3U);
  EXPECT_TRUE(pushed().changes.empty());
}

TEST_P(PushTest, RefusesAnotherMeshsBus) {
  (void)pushed();
  nlohmann::json config = {
      {"name", "OTHER"}, {"subjects", {"other"}}, {"metadata", {{"mesh.id", "ffff"}}}};
  ASSERT_TRUE(world.jetstream().create_stream(config).has_value());
  const auto refused = world.push();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::Conflict);
}

TEST_P(PushTest, LeavesForeignStreamsAlone) {
  nlohmann::json config = {{"name", "MINE"}, {"subjects", {"mine.>"}}};
  ASSERT_TRUE(world.jetstream().create_stream(config).has_value());
  (void)pushed();
  EXPECT_TRUE(world.jetstream().stream("MINE").has_value());
}

TEST_P(PushTest, TakesOverOurNamesOnlyWhenAsked) {
  nlohmann::json config = {{"name", "EVENTS"}, {"subjects", {"mesh.mod.*.event.>"}}};
  ASSERT_TRUE(world.jetstream().create_stream(config).has_value());
  const auto refused = world.push();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::Conflict);
  PushOptions adopt;
  adopt.adopt = true;
  adopt.yes = true;
  (void)pushed(adopt);
  EXPECT_TRUE(pushed().changes.empty());
}

TEST_P(PushTest, ASecretThatIsNotSetStopsItBeforeAnything) {
  world.write("modules/audit/module.toml",
              "consumes = [\"shop.order.placed\"]\n[components.server]\nrun = [\"true\"]\n"
              "env = { KEY = { secret = \"STRIPE_KEY\" } }\n");
  const auto refused = world.push();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::InvalidArgument);
  EXPECT_TRUE(world.jetstream().streams()->empty());
}

TEST_P(PushTest, TheLockNamesItsHolder) {
  const os::SystemClock clock;
  const auto held = inventory::lock_state(world.state().paths.root(), "push", clock);
  ASSERT_TRUE(held.has_value());
  const auto refused = world.push();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::Conflict);
  EXPECT_NE(refused.error().message.find(std::to_string(::getpid())), std::string::npos);
}

TEST_P(PushTest, AfterARestartOfTheControllerNothingIsToDo) {
  (void)pushed();
  place_orders(2);
  world.start();
  const auto again = pushed();
  EXPECT_TRUE(again.changes.empty()) << plan::to_text(again.changes.front());
  EXPECT_EQ(audited("two.audit", 10), 2U);
}

// For every N: the N-th outside call is the last that is made; run again, all is there.
TEST_P(PushTest, CutOffAnywhereItIsContinued) {
  CountingSteps all;
  ASSERT_TRUE(world.push(all).has_value());
  const int first_steps = all.count();
  EXPECT_GT(first_steps, 8);
  int round = 0;
  for (int n = 1; n <= 60; ++n) {
    // Each round changes something of every kind.
    const bool odd = ++round % 2 == 1;
    world.write("modules/audit/module.toml",
                odd ? "consumes = [\"shop.order.placed\", \"shop.order.paid\"]\n"
                    : "consumes = [\"shop.order.placed\"]\n");
    world.declare(odd ? replaced(kMesh, "on = [\"one\"]", "on = [\"one\", \"two\"]")
                      : std::string(kMesh));
    CountingSteps cut(n);
    const auto broken = world.push(cut);
    if (broken) {
      EXPECT_GT(n, 8);
      break;
    }
    ASSERT_EQ(broken.error().code, Code::Interrupted) << broken.error().message;
    const auto mended = world.push();
    ASSERT_TRUE(mended.has_value()) << "after " << cut.last() << ": " << mended.error().message;
    const auto again = pushed();
    ASSERT_TRUE(again.changes.empty())
        << "after " << cut.last() << ": " << plan::to_text(again.changes.front());
    ASSERT_TRUE(world.as("one.telegram").has_value());
    ASSERT_EQ(world.as("two.telegram").has_value(), odd);
  }
}

/// Pushes the world's mesh in a process of its own, which is killed before its n-th outside call.
Result<os::ExitStatus> push_killed_at(const controller::Location& location, int n) {
  os::RunOptions options;
  options.spawn.argv = {std::string(MESH_BINARY_DIR) + "/bin/push_killed_at", location.root,
                        std::to_string(n)};
  MESH_TRY(const auto result, os::run(options));
  return result.status;
}

// The same with SIGKILL: no destructor runs, no transaction is ended, no lock is given back.
TEST_P(PushTest, KilledAnywhereItIsContinued) {
  ASSERT_TRUE(world.push().has_value());
  bool finished = false;
  for (int n = 1; n <= 60 && !finished; ++n) {
    const bool odd = n % 2 == 1;
    world.write("modules/audit/module.toml",
                odd ? "consumes = [\"shop.order.placed\", \"shop.order.paid\"]\n"
                    : "consumes = [\"shop.order.placed\"]\n");
    world.declare(odd ? replaced(kMesh, "on = [\"one\"]", "on = [\"one\", \"two\"]")
                      : std::string(kMesh));
    const auto status = push_killed_at(world.location(), n);
    ASSERT_TRUE(status.has_value()) << status.error().message;
    finished = status->ok();
    ASSERT_TRUE(finished || status->signal == SIGKILL) << n << ": " << status->text();
    const auto mended = world.push();
    ASSERT_TRUE(mended.has_value()) << "killed at " << n << ": " << mended.error().message;
    ASSERT_TRUE(pushed().changes.empty()) << "killed at " << n;
    ASSERT_TRUE(world.as("one.telegram").has_value());
    ASSERT_EQ(world.as("two.telegram").has_value(), odd);
  }
  EXPECT_TRUE(finished);
}

INSTANTIATE_TEST_SUITE_P(Servers, PushTest, testing::ValuesIn(test::server_versions()),
                         [](const auto& version) {
                           auto name = "v" + version.param;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace mesh
