#include "broker/accounts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/support/mesh_builder.h"

namespace mesh::broker {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using Lines = std::vector<std::string>;

Account account(const model::Mesh& mesh, const std::string& name) {
  const auto users = principals(mesh);
  for (auto& account : accounts(mesh, users)) {
    if (account.name == name) {
      return account;
    }
  }
  ADD_FAILURE() << "no account " << name;
  return {};
}

std::string text(Share share) {
  return share == Share::Service ? "service" : "stream";
}

Lines exports(const Account& account) {
  Lines out;
  for (const auto& e : account.exports) {
    out.push_back(fmt::format("{} {}{}{}", text(e.share), e.subject,
                              e.stream_response ? " answered by a stream" : "",
                              e.account_token_position ? " by its account" : ""));
  }
  return out;
}

Lines imports(const Account& account) {
  Lines out;
  for (const auto& i : account.imports) {
    out.push_back(fmt::format("{} {} of {}{}", text(i.share), i.subject, i.account,
                              i.to.empty() ? "" : " as " + i.to));
  }
  return out;
}

constexpr const char* kShadow = "service mesh.void of MESH as $JS.API.INFO";

TEST(Accounts, MeshExportsAFewWildcards) {
  const auto mesh = account(test::small_mesh(), "MESH");
  EXPECT_TRUE(mesh.jetstream);
  EXPECT_THAT(mesh.users, ElementsAre("controller"));
  EXPECT_THAT(mesh.imports, IsEmpty());
  EXPECT_THAT(exports(mesh),
              ElementsAre("service $JS.ACK.>", "service $JS.API.CONSUMER.INFO.*.*",
                          "service $JS.API.CONSUMER.MSG.NEXT.EVENTS.* answered by a stream",
                          "service mesh.mod.*.event.> by its account", "service mesh.node.*.report",
                          "service mesh.seat.*.accept.*", "service mesh.seat.*.event.>",
                          "service mesh.void", "stream _DELIVER.*", "stream mesh.node.*.declare"));
}

TEST(Accounts, ToolsImportsEveryToolAndEveryMachine) {
  const auto tools = account(test::small_mesh(), "TOOLS");
  EXPECT_THAT(tools.users, ElementsAre("controller.tools"));
  EXPECT_THAT(tools.exports, IsEmpty());
  EXPECT_THAT(
      imports(tools),
      ElementsAre("service mesh.node.one.ask of NODE_one", "service mesh.node.two.ask of NODE_two",
                  "service mesh.mod.audit.tool.> of audit", "service mesh.mod.shop.tool.> of shop",
                  "service mesh.mod.telegram.tool.> of telegram"));
}

TEST(Accounts, ANodesIsFixed) {
  const auto one = account(test::small_mesh(), "NODE_one");
  EXPECT_THAT(one.users, ElementsAre("one"));
  EXPECT_THAT(exports(one), ElementsAre("service mesh.node.one.ask"));
  EXPECT_THAT(imports(one),
              ElementsAre("service $JS.ACK.NODES.one.> of MESH",
                          "service $JS.API.CONSUMER.INFO.NODES.one of MESH",
                          "service mesh.node.one.report of MESH", kShadow,
                          "stream _DELIVER.one of MESH", "stream mesh.node.one.declare of MESH"));
}

TEST(Accounts, AModulesImportsWhatItsInstancesNeed) {
  const auto shop = account(test::shop_mesh(), "shop");
  EXPECT_THAT(shop.users, ElementsAre("two.shop"));
  EXPECT_THAT(exports(shop), ElementsAre("service mesh.mod.shop.tool.>",
                                         "stream mesh.mod.shop.event.order.placed"));
  EXPECT_THAT(imports(shop),
              ElementsAre("service $JS.ACK.EVENTS.two_shop.> of MESH",
                          "service $JS.API.CONSUMER.INFO.EVENTS.two_shop of MESH",
                          "service $JS.API.CONSUMER.MSG.NEXT.EVENTS.two_shop of MESH",
                          "service mesh.mod.shop.event.order.placed of MESH",
                          "service mesh.seat.telegram-sender.accept.send of MESH", kShadow,
                          "service mesh.mod.audit.tool.search of audit",
                          "stream mesh.seat.telegram-sender.event.delivered of telegram"));
  const auto telegram = account(test::shop_mesh(), "telegram");
  EXPECT_THAT(exports(telegram), ElementsAre("service mesh.mod.telegram.tool.>",
                                             "stream mesh.seat.telegram-sender.event.delivered"));
  EXPECT_THAT(imports(telegram),
              ElementsAre("service $JS.ACK.EVENTS.one_telegram.> of MESH",
                          "service $JS.ACK.SEAT_TELEGRAM_SENDER.SEAT_TELEGRAM_SENDER_worker.> of "
                          "MESH",
                          "service $JS.API.CONSUMER.INFO.EVENTS.one_telegram of MESH",
                          "service $JS.API.CONSUMER.INFO.SEAT_TELEGRAM_SENDER.SEAT_TELEGRAM_SENDER_"
                          "worker of MESH",
                          "service $JS.API.CONSUMER.MSG.NEXT.EVENTS.one_telegram of MESH",
                          "service mesh.seat.telegram-sender.event.delivered of MESH",
                          "service mesh.seat.telegram-sender.event.failed of MESH", kShadow,
                          "stream _DELIVER.SEAT_TELEGRAM_SENDER_worker of MESH"));
}

TEST(Accounts, LimitsGrowWithTheInstances) {
  const auto mesh = test::MeshBuilder().node("a").node("b").module("m", {"a", "b"}).mesh();
  const auto m = account(mesh, "m");
  EXPECT_THAT(m.users, ElementsAre("a.m", "b.m"));
  EXPECT_EQ(m.limits.connections, 128);
  EXPECT_EQ(m.limits.subscriptions, 2000);
  EXPECT_EQ(m.limits.payload, 1048576);
  EXPECT_EQ(account(mesh, "MESH").limits.connections, 0);
}

TEST(Accounts, AModuleHearsItsOwnEventWithoutAnImport) {
  const auto mesh =
      test::MeshBuilder().node("a").module("m", {"a"}).emits("e").consumes("m.e").mesh();
  const auto m = account(mesh, "m");
  EXPECT_THAT(exports(m), ElementsAre("service mesh.mod.m.tool.>"));
  EXPECT_THAT(imports(m), Not(Contains("stream mesh.mod.m.event.e of m")));
}

// nats-server refuses a file in which two accounts take one subject from each other.
TEST(Accounts, HoldersThatHearTheirOwnSeatDoNotTakeItFromEachOther) {
  const auto mesh = test::MeshBuilder()
                        .node("a")
                        .seat("s", {"do"}, {"done"})
                        .module("hears", {"a"})
                        .holds("s")
                        .consumes("s:done")
                        .module("listens", {"a"})
                        .holds("s")
                        .consumes("s:done")
                        .module("silent", {"a"})
                        .holds("s")
                        .module("outside", {"a"})
                        .consumes("s:done")
                        .mesh();
  const auto live = [&](const std::string& name) {
    Lines out;
    for (const auto& i : account(mesh, name).imports) {
      if (i.share == Share::Stream && i.account != "MESH") {
        out.push_back(i.account);
      }
    }
    return out;
  };
  EXPECT_THAT(live("hears"), ElementsAre("silent"));
  EXPECT_THAT(live("listens"), ElementsAre("silent"));
  EXPECT_THAT(live("silent"), IsEmpty());
  EXPECT_THAT(live("outside"), ElementsAre("hears", "listens", "silent"));
  EXPECT_THAT(exports(account(mesh, "hears")), Contains("stream mesh.seat.s.event.done"));
}

}  // namespace
}  // namespace mesh::broker
