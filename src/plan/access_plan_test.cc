#include "plan/access_plan.h"

#include <gtest/gtest.h>

#include "plan/declaration_plan.h"

namespace mesh::plan {
namespace {

using broker::Share;

struct World {
  std::vector<broker::Account> accounts;
  std::vector<broker::Principal> principals;
  broker::Hashes hashes;
  [[nodiscard]] WantedAccess wanted() const { return {accounts, principals, hashes}; }
};

broker::Principal principal(const std::string& name, const std::string& account,
                            const std::vector<std::string>& publish) {
  broker::Principal out;
  out.name = name;
  out.account = account;
  for (const auto& subject : publish) {
    out.publish.push_back({subject, {"shop emits", {}}});
  }
  out.subscribe.push_back({"_INBOX." + name + ".>", {"its inbox", {}}});
  return out;
}

World small() {
  World world;
  broker::Account shop;
  shop.name = "shop";
  shop.users = {"one.shop"};
  shop.imports = {{Share::Service, "MESH", "mesh.mod.shop.event.a", ""}};
  world.accounts = {shop};
  world.principals = {principal("one.shop", "shop", {"mesh.mod.shop.event.a"})};
  world.hashes = {{"one.shop", "$2a$04$one"}};
  return world;
}

/// The configuration that says exactly what `world` wants.
broker::ConfigView in_force(const World& world) {
  broker::ConfigView view;
  for (const auto& account : world.accounts) {
    broker::AccountView shown;
    shown.name = account.name;
    for (const auto& import : account.imports) {
      shown.imports.push_back({import, 1});
    }
    for (const auto& one : world.principals) {
      if (one.account == account.name) {
        broker::UserView user;
        user.name = one.name;
        user.password = world.hashes.at(one.name);
        user.permissions.emplace();
        user.permissions->publish.emplace();
        user.permissions->publish->allow.emplace();
        for (const auto& grant : one.publish) {
          user.permissions->publish->allow->push_back({grant.subject, 1});
        }
        user.permissions->subscribe.emplace();
        user.permissions->subscribe->allow.emplace();
        for (const auto& grant : one.subscribe) {
          user.permissions->subscribe->allow->push_back({grant.subject, 1});
        }
        shown.users.push_back(user);
      }
    }
    view.accounts.push_back(shown);
  }
  return view;
}

std::vector<std::string> lines(const std::vector<Change>& changes) {
  std::vector<std::string> out;
  for (const auto& change : changes) {
    out.push_back(std::string(action_name(change.action)) + " " + kind_name(change.kind) + " " +
                  change.name);
  }
  return out;
}

using Lines = std::vector<std::string>;

TEST(AccessPlan, EverythingIsNewToAnEmptyServer) {
  auto world = small();
  world.hashes.clear();
  EXPECT_EQ(lines(access_plan(world.wanted(), nullptr, {})),
            (Lines{"create credential one.shop", "create account shop", "create user one.shop",
                   "create grant one.shop publish mesh.mod.shop.event.a",
                   "create grant one.shop subscribe _INBOX.one.shop.>"}));
  EXPECT_TRUE(accounts_grow(world.wanted(), nullptr));
}

TEST(AccessPlan, NothingWhereTheFileSaysTheSame) {
  const auto world = small();
  const auto view = in_force(world);
  EXPECT_EQ(lines(access_plan(world.wanted(), &view, {"one.shop"})), Lines());
  EXPECT_FALSE(accounts_grow(world.wanted(), &view));
}

TEST(AccessPlan, AGrantMoreOrLess) {
  auto world = small();
  const auto view = in_force(world);
  world.principals[0].publish[0].subject = "mesh.mod.shop.event.b";
  EXPECT_EQ(lines(access_plan(world.wanted(), &view, {"one.shop"})),
            (Lines{"create grant one.shop publish mesh.mod.shop.event.b",
                   "delete grant one.shop publish mesh.mod.shop.event.a"}));
}

TEST(AccessPlan, AnImportLessIsItsAccounts) {
  auto world = small();
  const auto view = in_force(world);
  world.accounts[0].imports.clear();
  EXPECT_EQ(lines(access_plan(world.wanted(), &view, {})), Lines{"update account shop"});
}

TEST(AccessPlan, ANewPasswordCutsOnlyWhoIsConnected) {
  auto world = small();
  const auto view = in_force(world);
  world.hashes["one.shop"] = "$2a$04$two";
  const auto plan = access_plan(world.wanted(), &view, {"one.shop", "two.other"});
  ASSERT_EQ(lines(plan), Lines{"update user one.shop"});
  EXPECT_EQ(plan[0].disconnected, Lines{"one.shop"});
  EXPECT_TRUE(access_plan(world.wanted(), &view, {})[0].disconnected.empty());
}

TEST(AccessPlan, WhoGoesIsDisconnected) {
  auto world = small();
  const auto view = in_force(world);
  const World empty;
  const auto plan = access_plan(empty.wanted(), &view, {"one.shop"});
  EXPECT_EQ(lines(plan), (Lines{"delete account shop", "delete user one.shop"}));
  EXPECT_EQ(plan[1].disconnected, Lines{"one.shop"});
}

TEST(ChangeJson, LeavesNoKeyOut) {
  Change change;
  change.name = "EVENTS";
  EXPECT_EQ(to_json(change).dump(),
            R"({"action":"create","because":{"file":null,"line":null,"text":""},)"
            R"("disconnected":[],"kind":"stream","name":"EVENTS","redelivered":null,)"
            R"("restarted":[],"skipped":null})");
}

}  // namespace
}  // namespace mesh::plan
