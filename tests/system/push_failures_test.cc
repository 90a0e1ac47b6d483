#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <random>
#include <thread>

#include "bus/server_record.h"
#include "os/process.h"
#include "tests/system/push_world.h"

/// What a push does where something is refused, taken away, or ends in the middle.
namespace mesh {
namespace {

using test::PushWorld;

constexpr const char* kMesh = R"(mesh = "home"
[nodes.one]
[modules.shop]
path = "modules/shop"
on = ["one"]
[modules.audit]
path = "modules/audit"
on = ["one"]
)";

constexpr const char* kNarrow = "consumes = [\"shop.placed\"]\n";
constexpr const char* kWide = "consumes = [\"shop.placed\", \"shop.paid\"]\n";

class PushFailuresTest : public testing::TestWithParam<std::string> {
 protected:
  void fill(PushWorld& world) {
    world.write("modules/shop/module.toml", "emits = [\"placed\", \"paid\"]\n");
    world.write("modules/audit/module.toml", kNarrow);
  }

  /// `mesh` itself, in the world's directory.
  static os::RunOptions mesh(PushWorld& world, std::vector<std::string> words) {
    os::RunOptions options;
    options.spawn.argv = {std::string(MESH_BINARY_DIR) + "/bin/mesh"};
    options.spawn.argv.insert(options.spawn.argv.end(), words.begin(), words.end());
    options.spawn.directory = world.location().root;
    options.timeout = std::chrono::milliseconds{120'000};
    return options;
  }
};

/// A program that is the server, and refuses every configuration while the file `refuse` is beside
/// it.
std::string choosy_server(const PushWorld& world, const std::string& version) {
  world.write("choosy",
              "#!/bin/sh\nfor word in \"$@\"; do\n"
              "  if [ \"$word\" = -t ] && [ -e " +
                  world.location().root +
                  "/refuse ]; then echo refused >&2; exit 1; fi\ndone\nexec " +
                  test::server_program(version).string() + " \"$@\"\n");
  const auto path = world.location().root + "/choosy";
  EXPECT_EQ(::chmod(path.c_str(), 0700), 0);
  return path;
}

TEST_P(PushFailuresTest, WhatTheServerRefusesLeavesTheOldInForce) {
  PushWorld world(GetParam(), kMesh);
  fill(world);
  world.use_program(choosy_server(world, GetParam()));
  world.declare(kMesh);
  world.start();
  ASSERT_TRUE(world.push().has_value());
  const auto before = world.config_text();
  auto shop = world.as("one.shop");
  ASSERT_TRUE(shop.has_value());
  world.write("refuse", "");
  world.write("modules/shop/module.toml", "emits = [\"placed\", \"paid\", \"shipped\"]\n");
  const auto refused = world.push();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::PermissionDenied) << refused.error().message;
  EXPECT_EQ(world.config_text(), before);
  EXPECT_TRUE(shop->is_connected());
  EXPECT_EQ(world.state().inventory.latest().value()->number, 1);
}

TEST_P(PushFailuresTest, WhatCannotBeRaisedPutsTheOldFileBack) {
  PushWorld world(GetParam(), std::string(kMesh) + "[seats.desk]\naccepts = [\"work\"]\n");
  fill(world);
  world.start();
  ASSERT_TRUE(world.push().has_value());
  const auto before = world.config_text();
  // A work queue takes one consumer for all of its work: with somebody's own, ours is refused.
  const nlohmann::json foreign = {
      {"name", "mine"}, {"durable_name", "mine"}, {"ack_policy", "explicit"}};
  ASSERT_TRUE(world.jetstream().raise_consumer({"SEAT_DESK", foreign}, bus::Raise::Create));
  world.write("modules/audit/module.toml", std::string(kNarrow) + "holds = [\"desk\"]\n");
  const auto refused = world.push();
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("SEAT_DESK_worker"), std::string::npos);
  EXPECT_EQ(world.config_text(), before) << refused.error().message;
  EXPECT_TRUE(world.jetstream().consumer("SEAT_DESK", "mine").has_value());

  ASSERT_TRUE(world.jetstream().delete_consumer("SEAT_DESK", "mine").has_value());
  const auto mended = world.push();
  ASSERT_TRUE(mended.has_value()) << mended.error().message;
  EXPECT_TRUE(world.push()->changes.empty());
}

TEST_P(PushFailuresTest, TheControllerMakesAgainWhatIsGone) {
  PushWorld world(GetParam(), kMesh);
  fill(world);
  world.start();
  ASSERT_TRUE(world.push().has_value());
  ASSERT_TRUE(world.jetstream().delete_consumer("EVENTS", "one_audit").has_value());
  world.tick_later();
  EXPECT_TRUE(world.jetstream().consumer("EVENTS", "one_audit").has_value());
  EXPECT_TRUE(world.push()->changes.empty());
}

// The first answer to an update after the server's start tells the old values.
TEST_P(PushFailuresTest, AnUpdateAfterTheServersStartIsInForce) {
  PushWorld world(GetParam(), kMesh);
  fill(world);
  world.start();
  ASSERT_TRUE(world.push().has_value());
  world.stop();
  world.start();
  world.declare(std::string(kMesh) + "[delivery]\nwithin = \"21s\"\n");
  const auto pushed = world.push();
  ASSERT_TRUE(pushed.has_value()) << pushed.error().message;
  EXPECT_EQ(pushed->changes.size(), 1U);
  EXPECT_TRUE(world.push()->changes.empty());
}

TEST_P(PushFailuresTest, AConfigurationChangedByHandIsNotStartedWith) {
  PushWorld world(GetParam(), kMesh);
  fill(world);
  world.start();
  ASSERT_TRUE(world.push().has_value());
  const auto before = world.config_text();
  const auto server = bus::running_server(controller::server_record_file(world.state().paths));
  ASSERT_TRUE(server.has_value() && server->has_value());
  std::ofstream(world.state().paths.bus_config(), std::ios::app) << "accounts {{{\n";
  ASSERT_EQ(::kill((*server)->process.pid, SIGKILL), 0);
  const os::Deadline deadline(std::chrono::seconds{60});
  const auto runs_again = [&] {
    const auto now = bus::running_server(controller::server_record_file(world.state().paths));
    return now && *now && (*now)->process.pid != (*server)->process.pid;
  };
  while (!runs_again() && !deadline.passed()) {
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
  EXPECT_TRUE(runs_again());
  EXPECT_EQ(world.config_text(), before);
}

TEST_P(PushFailuresTest, ImagesAreRefusedPlainly) {
  PushWorld world(GetParam(), kMesh);
  fill(world);
  world.start();
  world.write("modules/audit/module.toml",
              std::string(kNarrow) + "[components.server]\nimage = \"example.org/a:1\"\n");
  const auto refused = world.push();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::Unsupported);
  EXPECT_TRUE(world.jetstream().streams()->empty());
}

// The real program, killed at any moment: the next push goes on from there.
TEST_P(PushFailuresTest, KilledAtAnyMomentItIsContinued) {
  PushWorld world(GetParam(), kMesh);
  fill(world);
  world.start();
  std::mt19937 random(1130);
  for (int round = 0; round < 12; ++round) {
    world.write("modules/audit/module.toml", round % 2 == 0 ? kNarrow : kWide);
    world.declare(round % 3 == 0
                      ? std::string(kMesh)
                      : std::string(kMesh) + "[nodes.extra" + std::to_string(round) + "]\n");
    auto options = mesh(world, {"push", "--yes"});
    options.spawn.out = os::Output::discard();
    options.spawn.err = os::Output::discard();
    auto process = os::Process::spawn(options.spawn);
    ASSERT_TRUE(process.has_value()) << process.error().message;
    const std::chrono::milliseconds moment(random() % 250);
    if (const auto ended = process->wait(moment); !ended) {
      process->signal(SIGKILL);
      ASSERT_TRUE(process->wait(std::chrono::milliseconds{10'000}).has_value());
    }
    controller::PushOptions yes;
    yes.yes = true;
    const auto mended = world.push(yes);
    ASSERT_TRUE(mended.has_value()) << mended.error().message;
    const auto again = world.push();
    ASSERT_TRUE(again.has_value()) << again.error().message;
    ASSERT_TRUE(again->changes.empty()) << plan::to_text(again->changes.front());
    ASSERT_TRUE(world.as("one.audit").has_value());
  }
}

TEST_P(PushFailuresTest, TwoAtOnceExcludeEachOther) {
  PushWorld world(GetParam(), kMesh);
  fill(world);
  world.start();
  auto first = os::Process::spawn(mesh(world, {"push"}).spawn);
  const auto second = os::run(mesh(world, {"push", "--json"}));
  ASSERT_TRUE(first.has_value());
  ASSERT_TRUE(second.has_value());
  ASSERT_TRUE(first->wait(std::chrono::milliseconds{60'000}).has_value());
  EXPECT_TRUE(second->status.code == 0 || second->out.find("\"conflict\"") != std::string::npos)
      << second->out << second->err;
  EXPECT_TRUE(second->status.code == 0 || second->status.code == 1);
  EXPECT_TRUE(world.push()->changes.empty());
}

INSTANTIATE_TEST_SUITE_P(Servers, PushFailuresTest, testing::ValuesIn(test::server_versions()),
                         [](const auto& version) {
                           auto name = "v" + version.param;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace mesh
