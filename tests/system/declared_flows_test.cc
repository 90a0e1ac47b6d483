// What is declared, on a real server with the composed accounts and the raised streams: each event
// is stored once, heard once and becomes work once. See docs/decisions/0007 and 0005.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "broker/objects.h"
#include "bus/jetstream.h"
#include "controller/apply.h"
#include "controller/observe.h"
#include "plan/bus_plan.h"
#include "tests/contract/servers.h"
#include "tests/support/composed_config.h"
#include "tests/support/mesh_builder.h"
#include "tests/support/must.h"

namespace mesh {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

/// The composed configuration, each user's password being its name.
std::string configuration(const model::Mesh& mesh) {
  const auto principals = broker::principals(mesh);
  const auto accounts = broker::accounts(mesh, principals);
  broker::Hashes passwords;
  for (const auto& account : accounts) {
    for (const auto& user : account.users) {
      passwords[user] = user;
    }
  }
  broker::ServerSettings settings;
  settings.server_name = "flows";
  settings.store_dir = "@DIR@/jetstream";
  return broker::compose(settings, accounts, principals, passwords).value();
}

class OnAndOn : public controller::Steps {
 public:
  [[nodiscard]] Status next(std::string_view) override { return {}; }
  void say(std::string_view) override {}
};

bool eventually(const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

/// A principal that is connected, and the payloads that it heard.
class Client {
 public:
  Client(const test::NatsServer& server, const std::string& user, const std::string& inbox) {
    auto options = test::as(server, user);
    options.inbox = inbox;
    connection_ = std::make_unique<bus::Connection>(test::must(bus::Connection::connect(options)));
  }

  void hear(const std::string& subject, const std::string& queue = {}) {
    auto heard = connection_->subscribe(subject, queue, [this](const bus::Message& message) {
      {
        const std::scoped_lock lock(mutex_);
        heard_.push_back(message.data);
      }
      if (message.reply.starts_with("$JS.ACK.")) {
        (void)connection_->publish(message.reply, "+ACK");
      }
    });
    subscriptions_.push_back(test::must(std::move(heard)));
    test::must(connection_->flush(5s));
  }

  /// Publishes into a stream; empty, or the stream's refusal.
  std::string emit(const std::string& subject, const std::string& payload) {
    const auto stored = bus::JetStream(*connection_).store(subject, payload);
    return stored ? "" : stored.error().message;
  }

  Lines heard() {
    const std::scoped_lock lock(mutex_);
    return heard_;
  }
  bus::Connection& connection() { return *connection_; }

 private:
  std::mutex mutex_;
  Lines heard_;
  std::unique_ptr<bus::Connection> connection_;
  std::vector<bus::Subscription> subscriptions_;
};

class DeclaredFlows : public testing::TestWithParam<std::string> {
 protected:
  void start(const model::Mesh& mesh) {
    server_ = std::make_unique<test::NatsServer>(
        test::must(test::NatsServer::start(GetParam(), configuration(mesh))));
    connect_controller();
    EXPECT_GT(raise(mesh), 0U);
    EXPECT_EQ(raise(mesh), 0U) << "raising twice changes nothing";
  }

  void connect_controller() { controller_ = client("controller", "_INBOX.controller"); }

  /// Plans and does it; how many changes there were.
  std::size_t raise(const model::Mesh& mesh) {
    OnAndOn steps;
    plan::Hints hints;
    hints.mesh_id = "id";
    std::uint64_t writes = 0;
    const auto observed = test::must(controller::observe(controller_->connection(), steps));
    const auto changes = test::must(plan::bus_plan(broker::wanted(mesh, "id"), observed, hints));
    const auto done = controller::raise(controller_->connection(), changes, steps, writes);
    EXPECT_TRUE(done) << done.error().message;
    return changes.size();
  }

  std::unique_ptr<Client> client(const std::string& user, const std::string& inbox) {
    return std::make_unique<Client>(*server_, user, inbox);
  }
  std::unique_ptr<Client> instance(const std::string& user) {
    return client(user, "_INBOX." + user);
  }

  std::uint64_t messages(const std::string& stream) {
    const auto info = bus::JetStream(controller_->connection()).stream(stream);
    EXPECT_TRUE(info) << info.error().message;
    return info ? info->messages : 0;
  }

  std::unique_ptr<test::NatsServer> server_;
  std::unique_ptr<Client> controller_;
};

model::Mesh holders_mesh() {
  test::MeshBuilder mesh;
  mesh.node("one").node("two").seat("desk", {"work"}, {"done"});
  for (const auto* name : {"hears-a", "hears-b", "hears-c", "hears-d"}) {
    mesh.module(name, {"one"}).holds("desk").consumes("desk:done").uses("desk.work");
  }
  return mesh.module("silent", {"two"})
      .holds("desk")
      .module("outside", {"two"})
      .consumes("desk:done")
      .module("self", {"one", "two"})
      .emits("said")
      .consumes("self.said")
      .mesh();
}

TEST_P(DeclaredFlows, HoldersThatHearTheirOwnSeat) {
  start(holders_mesh());
  const std::string subject = "mesh.seat.desk.event.done";
  std::map<std::string, std::unique_ptr<Client>> all;
  for (const auto* name : {"one.hears-a", "one.hears-b", "two.silent", "two.outside"}) {
    all[name] = instance(name);
    if (std::string(name) != "two.silent") {
      all[name]->hear(subject);
    }
  }
  EXPECT_EQ(all["two.silent"]->emit(subject, "from silent"), "");
  EXPECT_EQ(all["one.hears-a"]->emit(subject, "from a"), "");
  EXPECT_EQ(messages("EVENTS"), 2U);
  EXPECT_TRUE(eventually([&] { return all["two.outside"]->heard().size() == 2; }));
  EXPECT_EQ(all["two.outside"]->heard(), (Lines{"from silent", "from a"}));
  EXPECT_TRUE(eventually([&] { return all["one.hears-a"]->heard().size() == 2; }));
  EXPECT_TRUE(eventually([&] { return !all["one.hears-b"]->heard().empty(); }));
  EXPECT_EQ(all["one.hears-b"]->heard(), Lines{"from silent"}) << "what a emits it pulls";
  auto pulled =
      bus::JetStream(all["one.hears-b"]->connection()).pull("EVENTS", "one_hears-b", 10, 5s);
  ASSERT_TRUE(pulled) << pulled.error().message;
  EXPECT_EQ(pulled->size(), 2U);
}

TEST_P(DeclaredFlows, AModuleHearsItselfOnEachOfItsNodes) {
  start(holders_mesh());
  auto one = instance("one.self");
  auto two = instance("two.self");
  one->hear("mesh.mod.self.event.said");
  two->hear("mesh.mod.self.event.said");
  EXPECT_EQ(one->emit("mesh.mod.self.event.said", "x"), "");
  EXPECT_TRUE(eventually([&] { return !one->heard().empty() && !two->heard().empty(); }));
  EXPECT_EQ(messages("EVENTS"), 1U);
}

model::Mesh work_mesh() {
  return test::MeshBuilder()
      .node("one")
      .seat("desk", {"pack", "bill"})
      .from("pack", {"shop.order.placed", "shop.order.again"})
      .from("bill", {"shop.order.paid"})
      .module("shop", {"one"})
      .emits("order.placed")
      .emits("order.again")
      .emits("order.paid")
      .module("clerk", {"one"})
      .holds("desk")
      .mesh();
}

TEST_P(DeclaredFlows, WorkThatIsDoneDoesNotComeAgainAfterARestart) {
  start(work_mesh());
  const std::string deliver = "_DELIVER.SEAT_DESK_worker";
  const Lines subjects = {"mesh.mod.shop.event.order.placed", "mesh.mod.shop.event.order.paid",
                          "mesh.mod.shop.event.order.again"};
  {
    auto clerk = instance("one.clerk");
    clerk->hear(deliver, "SEAT_DESK_worker");
    auto shop = instance("one.shop");
    for (const auto& subject : subjects) {
      EXPECT_EQ(shop->emit(subject, "first"), "");
    }
    ASSERT_TRUE(eventually([&] { return clerk->heard().size() == 3; }));
    ASSERT_TRUE(eventually([&] { return messages("SEAT_DESK") == 0; }));
  }
  controller_.reset();
  server_->kill();
  ASSERT_TRUE(server_->restart());
  connect_controller();
  auto clerk = instance("one.clerk");
  clerk->hear(deliver, "SEAT_DESK_worker");
  auto shop = instance("one.shop");
  EXPECT_EQ(shop->emit(subjects[0], "second"), "");
  ASSERT_TRUE(eventually([&] { return !clerk->heard().empty(); }));
  EXPECT_EQ(clerk->heard().front(), "second");
  for (const auto& subject : subjects) {
    EXPECT_EQ(shop->emit(subject, "third"), "");
  }
  ASSERT_TRUE(eventually([&] { return clerk->heard().size() >= 4; }));
  EXPECT_EQ(clerk->heard(), (Lines{"second", "third", "third", "third"}));
  EXPECT_EQ(raise(work_mesh()), 1U) << "REPORTS alone is made anew: it lives in memory";
}

TEST_P(DeclaredFlows, AnEventDropsItsOwnOldestAndAFullDiskRefuses) {
  auto mesh = work_mesh();
  mesh.events.per_event = 3;
  mesh.events.disk = 4000;
  mesh.events.largest = 1024;
  start(mesh);
  auto shop = instance("one.shop");
  const std::string payload(700, 'x');
  EXPECT_EQ(shop->emit("mesh.mod.shop.event.order.paid", payload), "");
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(shop->emit("mesh.mod.shop.event.order.placed", "small"), "");
  }
  EXPECT_EQ(messages("EVENTS"), 4U) << "one paid, the last three placed";
  std::string refused;
  for (int i = 0; i < 9 && refused.empty(); ++i) {
    refused = shop->emit("mesh.mod.shop.event.order.again", payload + std::to_string(i));
    if (refused.empty()) {
      refused = shop->emit("mesh.mod.shop.event.order.placed", payload);
    }
  }
  EXPECT_NE(refused.find("maximum bytes exceeded"), std::string::npos) << refused;
  const auto first = bus::JetStream(controller_->connection())
                         .last_message("EVENTS", "mesh.mod.shop.event.order.paid");
  EXPECT_TRUE(first) << "nobody pushed it out";
}

INSTANTIATE_TEST_SUITE_P(System, DeclaredFlows, testing::ValuesIn(test::server_versions()),
                         test::version_name);

}  // namespace
}  // namespace mesh
