#include "broker/principals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/mesh_builder.h"

namespace mesh::broker {
namespace {

using testing::ElementsAre;
using Subjects = std::vector<std::string>;

const Principal& find(const std::vector<Principal>& all, const std::string& name) {
  for (const auto& p : all) {
    if (p.name == name) {
      return p;
    }
  }
  static const Principal kNone;
  ADD_FAILURE() << "no principal " << name;
  return kNone;
}

Subjects subjects_of(const std::vector<Grant>& grants) {
  Subjects out;
  for (const auto& grant : grants) {
    out.push_back(grant.subject);
  }
  return out;
}

std::string why(const std::vector<Grant>& grants, const std::string& subject) {
  for (const auto& grant : grants) {
    if (grant.subject == subject) {
      const auto& b = grant.because;
      return b.place.file_name() + ":" + std::to_string(b.place.line) + ": " + b.text;
    }
  }
  return "no grant of " + subject;
}

struct Row {
  std::string name;
  Subjects publish;
  Subjects subscribe;
};

void expect_table(const model::Mesh& mesh, const std::vector<Row>& rows) {
  const auto all = principals(mesh);
  for (const auto& row : rows) {
    const auto& p = find(all, row.name);
    EXPECT_EQ(subjects_of(p.publish), row.publish) << row.name;
    EXPECT_EQ(subjects_of(p.subscribe), row.subscribe) << row.name;
  }
}

const Row kTelegram = {
    "one.telegram",
    {"$JS.ACK.EVENTS.one_telegram.>", "$JS.ACK.SEAT_TELEGRAM_SENDER.SEAT_TELEGRAM_SENDER_worker.>",
     "$JS.API.CONSUMER.INFO.EVENTS.one_telegram",
     "$JS.API.CONSUMER.INFO.SEAT_TELEGRAM_SENDER.SEAT_TELEGRAM_SENDER_worker",
     "$JS.API.CONSUMER.MSG.NEXT.EVENTS.one_telegram", "mesh.seat.telegram-sender.event.delivered",
     "mesh.seat.telegram-sender.event.failed"},
    {"_DELIVER.SEAT_TELEGRAM_SENDER_worker", "_INBOX.one.telegram.>", "mesh.mod.telegram.tool.>",
     "mesh.seat.telegram-sender.accept.send"}};

const Row kAudit = {
    "two.audit",
    {"$JS.ACK.EVENTS.two_audit.>", "$JS.API.CONSUMER.INFO.EVENTS.two_audit",
     "$JS.API.CONSUMER.MSG.NEXT.EVENTS.two_audit"},
    {"_INBOX.two.audit.>", "mesh.mod.audit.tool.>", "mesh.mod.shop.event.order.placed"}};

TEST(Principals, SmallMeshIsTheWorkedExample) {
  expect_table(test::small_mesh(),
               {kTelegram,
                kAudit,
                {"two.shop",
                 {"$JS.ACK.EVENTS.two_shop.>", "$JS.API.CONSUMER.INFO.EVENTS.two_shop",
                  "$JS.API.CONSUMER.MSG.NEXT.EVENTS.two_shop", "mesh.mod.shop.event.order.placed",
                  "mesh.seat.telegram-sender.accept.send"},
                 {"_INBOX.two.shop.>", "mesh.mod.shop.tool.>"}}});
}

TEST(Principals, ShopMeshAddsACallAToolAndASeatsEvent) {
  expect_table(
      test::shop_mesh(),
      {kTelegram,
       kAudit,
       {"two.shop",
        {"$JS.ACK.EVENTS.two_shop.>", "$JS.API.CONSUMER.INFO.EVENTS.two_shop",
         "$JS.API.CONSUMER.MSG.NEXT.EVENTS.two_shop", "mesh.mod.audit.tool.search",
         "mesh.mod.shop.event.order.placed", "mesh.seat.telegram-sender.accept.send"},
        {"_INBOX.two.shop.>", "mesh.mod.shop.tool.>", "mesh.seat.telegram-sender.event.delivered"}},
       {"one",
        {"$JS.ACK.NODES.one.>", "$JS.API.CONSUMER.INFO.NODES.one", "mesh.node.one.report"},
        {"_DELIVER.one", "_INBOX.node.one.>", "mesh.node.one.ask", "mesh.node.one.declare"}},
       {"controller", {">"}, {">"}},
       {"controller.tools",
        {"mesh.mod.*.tool.>", "mesh.node.*.ask"},
        {"_INBOX.controller.tools.>"}}});
}

TEST(Principals, AreSortedWithTheirAccounts) {
  std::vector<std::string> lines;
  for (const auto& p : principals(test::small_mesh())) {
    lines.push_back(p.name + " in " + p.account + (p.allow_responses ? " answers" : ""));
  }
  EXPECT_THAT(lines, ElementsAre("controller in MESH", "controller.tools in TOOLS",
                                 "one in NODE_one answers", "one.telegram in telegram answers",
                                 "two in NODE_two answers", "two.audit in audit answers",
                                 "two.shop in shop answers"));
}

TEST(Principals, SayWhichDeclarationEachGrantFollowsFrom) {
  const auto mesh = test::shop_mesh();
  const auto all = principals(mesh);
  const auto& shop = find(all, "two.shop");
  EXPECT_EQ(why(shop.publish, "mesh.mod.shop.event.order.placed"),
            "modules/shop/module.toml:20: emits order.placed");
  EXPECT_EQ(why(shop.publish, "mesh.mod.audit.tool.search"),
            "modules/shop/module.toml:23: calls audit.search");
  EXPECT_EQ(why(shop.subscribe, "mesh.seat.telegram-sender.event.delivered"),
            "modules/shop/module.toml:21: consumes telegram-sender:delivered");
  EXPECT_EQ(why(shop.subscribe, "_INBOX.two.shop.>"),
            "mesh.toml:17: hears its own inbox: [modules.shop] is on node two");
  const auto& telegram = find(all, "one.telegram");
  EXPECT_EQ(why(telegram.publish, "mesh.seat.telegram-sender.event.failed"),
            "modules/telegram/module.toml:11: holds telegram-sender, which emits failed");
}

TEST(Principals, KeepOneGrantOfASubject) {
  const auto mesh =
      test::MeshBuilder().node("one").module("m", {"one"}).emits("e").emits("e").mesh();
  const auto all = principals(mesh);
  EXPECT_EQ(subjects_of(find(all, "one.m").publish).back(), "mesh.mod.m.event.e");
  EXPECT_EQ(find(all, "one.m").publish.size(), 4U);
}

}  // namespace
}  // namespace mesh::broker
