/// A bus beyond loopback, with the real servers, in a network of the test's own: TLS by the mesh's
/// authority, for whoever has what `mesh env` gives and for nobody else.

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "bus/server_hello.h"
#include "bus/server_program.h"
#include "controller/bus_file.h"
#include "controller/environment.h"
#include "controller/heal.h"
#include "controller/tls.h"
#include "os/files.h"
#include "tests/support/certificates.h"
#include "tests/support/own_network.h"
#include "tests/system/push_world.h"

namespace mesh::test {
namespace {

using namespace std::chrono_literals;
using controller::Served;

constexpr const char* kAddress = "10.77.0.1";
const bool kOwnNetwork = enter_own_network(kAddress);  // before anything has threads

const std::string kShop = R"(mesh = "home"
[nodes.one]
[modules.shop]
path = "shop"
on = ["one"]
)";

class TlsBeyondLoopback : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    world_ = std::make_unique<PushWorld>(GetParam(), kShop);
    if (!kOwnNetwork) {
      GTEST_SKIP() << "a network of its own needs root";
    }
    world_->write("shop/module.toml", "emits = [\"sold\"]\n");
    // The servers go by the real clock: what is old must have been issued long ago.
    world_->pass(-std::chrono::days{61});
    come_up(kAddress);
  }

  void come_up(const std::string& host, const std::string& more = {}) {
    world_->listen_on(host, more);
    world_->declare(kShop);
    world_->start();
    const auto pushed = world_->push();
    ASSERT_TRUE(pushed) << pushed.error().message;
  }

  /// What a client is given, and nothing else.
  controller::Variables variables() {
    const auto reading = controller::read_declarations(world_->location());
    const auto part = detail::must(controller::find_part(*reading.mesh, "one.shop", std::nullopt));
    return detail::must(controller::prepare_environment(world_->state(), *reading.mesh, part,
                                                        world_->location().root))
        .variables;
  }
  static bus::ConnectOptions client(const controller::Variables& given) {
    bus::ConnectOptions options;
    options.urls = {given.at("MESH_BUS")};
    options.user = given.at("MESH_USER");
    options.password = detail::must(os::read_file(given.at("MESH_PASSWORD_FILE"), 4096));
    options.inbox = given.at("MESH_INBOX");
    if (given.contains("MESH_CA_FILE")) {
      options.ca_pem = detail::must(os::read_file(given.at("MESH_CA_FILE"), 65536));
    }
    return options;
  }
  std::string mark() { return controller::certificate_mark(world_->state().paths, Served::Bus); }
  Result<bus::ServerHello> hello() { return bus::read_hello(kAddress, world_->port(), 5s); }

  std::unique_ptr<PushWorld> world_;
};

TEST_P(TlsBeyondLoopback, AClientNeedsWhatItsEnvironmentSaysAndNoMore) {
  const auto given = variables();
  EXPECT_EQ(given.at("MESH_BUS"), fmt::format("tls://{}:{}", kAddress, world_->port()));
  auto connection = bus::Connection::connect(client(given));
  ASSERT_TRUE(connection) << connection.error().message;
  EXPECT_TRUE(connection->publish("mesh.mod.shop.event.sold", "{}"));
  EXPECT_TRUE(connection->flush(5s));
  ASSERT_TRUE(hello());
  EXPECT_TRUE(hello()->tls);
}

TEST_P(TlsBeyondLoopback, AnotherAuthorityAndPlainTextAreRefused) {
  auto options = client(variables());
  options.ca_pem = make_certificates().ca_pem;
  EXPECT_FALSE(bus::Connection::connect(options));
  options.ca_pem.clear();
  EXPECT_FALSE(bus::Connection::connect(options)) << "the system's authorities know nothing of it";
  options.urls = {fmt::format("nats://{}:{}", kAddress, world_->port())};
  EXPECT_FALSE(bus::Connection::connect(options));
}

TEST_P(TlsBeyondLoopback, APushRenewsTheCertificateAndDisconnectsNobody) {
  auto options = client(variables());
  auto connection = bus::Connection::connect(options);
  ASSERT_TRUE(connection) << connection.error().message;
  const auto before = mark();
  const auto nothing = world_->push();
  ASSERT_TRUE(nothing);
  EXPECT_TRUE(nothing->changes.empty());
  EXPECT_EQ(mark(), before);

  world_->pass(std::chrono::days{61});
  const auto planned = world_->plan();
  ASSERT_TRUE(planned);
  ASSERT_EQ(planned->changes.size(), 1U);
  EXPECT_TRUE(planned->changes.front().because.text.starts_with("its certificate ends 20"));
  EXPECT_EQ(mark(), before) << "a plan changes nothing";
  const auto renewed = world_->push();
  ASSERT_TRUE(renewed) << renewed.error().message;
  ASSERT_EQ(renewed->changes.size(), 1U);
  EXPECT_EQ(renewed->changes.front().name, "certificate of the bus");
  EXPECT_TRUE(renewed->reloaded);
  EXPECT_NE(mark(), before);
  EXPECT_TRUE(connection->is_connected());
  EXPECT_TRUE(connection->flush(5s)) << "the same connection goes on";
  EXPECT_TRUE(bus::Connection::connect(options)) << "and a new one trusts the new certificate";
  const auto again = world_->push();
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->changes.empty());
}

TEST_P(TlsBeyondLoopback, TheControllerRenewsItWhereNobodyPushes) {
  auto connection = bus::Connection::connect(client(variables()));
  ASSERT_TRUE(connection) << connection.error().message;
  const auto before = mark();
  world_->tick_later();
  EXPECT_EQ(mark(), before);
  world_->pass(std::chrono::days{61});
  world_->tick_later();
  EXPECT_NE(mark(), before);
  EXPECT_TRUE(connection->flush(5s));
  const auto nothing = world_->push();
  ASSERT_TRUE(nothing) << nothing.error().message;
  EXPECT_TRUE(nothing->changes.empty()) << "the server was proved to run with it";
}

TEST_P(TlsBeyondLoopback, ACertificateThatHasEndedIsReplacedWithoutAConnection) {
  auto& state = world_->state();
  const auto reading = controller::read_declarations(world_->location());
  const os::SystemClock clock;
  const auto file = controller::certificate_file(state.paths, Served::Bus);
  ASSERT_TRUE(os::remove_tree(file));
  ASSERT_TRUE(detail::must(controller::renew_certificate(state.paths, *reading.mesh, Served::Bus,
                                                         clock.now() - std::chrono::days{91})));
  ASSERT_TRUE(controller::remember_proved(state, world_->config_text()));
  const auto server =
      detail::must(bus::running_server(controller::server_record_file(state.paths)));
  ASSERT_EQ(::kill(server->process.pid, SIGHUP), 0);
  const auto options = client(variables());
  const os::Deadline deadline(20s);
  while (bus::Connection::connect(options) && !deadline.passed()) {
  }
  EXPECT_FALSE(world_->push()) << "nobody can connect";
  os::SystemRandom random;
  do {  // a controller's look every 30 s
    controller::Healer(state, world_->location().root, {clock, random}, [](std::string_view) {
    }).tick();
  } while (!bus::Connection::connect(options) && !deadline.passed());
  EXPECT_TRUE(bus::Connection::connect(options));
}

TEST_P(TlsBeyondLoopback, APushThatDiedAfterIssuingIsContinued) {
  const auto reading = controller::read_declarations(world_->location());
  world_->pass(std::chrono::days{61});
  ASSERT_TRUE(detail::must(controller::renew_certificate(
      world_->state().paths, *reading.mesh, Served::Bus,
      std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now()))));
  const auto pushed = world_->push();
  ASSERT_TRUE(pushed) << pushed.error().message;
  EXPECT_TRUE(pushed->reloaded) << "the server does not know the certificate yet";
}

TEST_P(TlsBeyondLoopback, OtherHostsAreAnotherCertificate) {
  const auto before = mark();
  world_->listen_on(kAddress, "advertise = [\"nats://bus.home:4222\"]\n");
  world_->declare(kShop);
  ASSERT_TRUE(world_->push());
  EXPECT_NE(mark(), before);
  EXPECT_EQ(variables().at("MESH_BUS"), "tls://bus.home:4222");
}

TEST_P(TlsBeyondLoopback, InsecureIsPlainAndComesAndGoesWithAPush) {
  world_->listen_on(kAddress, "insecure = true\n");
  world_->declare(kShop);
  const auto plain = world_->push();
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_FALSE(hello()->tls);
  const auto given = variables();
  EXPECT_TRUE(given.at("MESH_BUS").starts_with("nats://"));
  EXPECT_FALSE(given.contains("MESH_CA_FILE"));
  EXPECT_TRUE(bus::Connection::connect(client(given)));
  world_->listen_on(kAddress);
  world_->declare(kShop);
  const auto safe = world_->push();
  ASSERT_TRUE(safe) << safe.error().message;
  EXPECT_TRUE(hello()->tls);
  EXPECT_TRUE(bus::Connection::connect(client(variables())));
}

TEST_P(TlsBeyondLoopback, APushThatDiedBeforeItsReloadIsContinued) {
  const auto with_tls = world_->config_text();
  world_->listen_on(kAddress, "insecure = true\n");
  world_->declare(kShop);
  ASSERT_TRUE(world_->push());
  world_->listen_on(kAddress);
  world_->declare(kShop);
  std::ofstream(world_->state().paths.bus_config(), std::ios::binary) << with_tls;
  ASSERT_FALSE(hello()->tls) << "the file says so, and the server does not know";
  const auto pushed = world_->push();
  ASSERT_TRUE(pushed) << pushed.error().message;
  EXPECT_TRUE(hello()->tls);
}

TEST_P(TlsBeyondLoopback, OnEveryAddressItIsDialledByEach) {
  come_up("0.0.0.0");
  EXPECT_TRUE(variables().at("MESH_BUS").starts_with("tls://127.0.0.1:"));
  come_up("[::]");
  auto options = client(variables());
  EXPECT_TRUE(options.urls.front().starts_with("tls://[::1]:")) << options.urls.front();
  for (const auto* host : {"[::1]", "127.0.0.1", "localhost"}) {
    options.urls = {fmt::format("tls://{}:{}", host, world_->port())};
    const auto connection = bus::Connection::connect(options);
    EXPECT_TRUE(connection) << host << ": " << connection.error().message;
  }
  options.urls = {fmt::format("tls://{}:{}", kAddress, world_->port())};
  EXPECT_FALSE(bus::Connection::connect(options)) << "an alias of lo is no address for others";
}

TEST_P(TlsBeyondLoopback, ALoopbackBusHasNoneAndNeedsNone) {
  come_up("127.0.0.1");
  const auto given = variables();
  EXPECT_TRUE(given.at("MESH_BUS").starts_with("nats://127.0.0.1:"));
  EXPECT_FALSE(given.contains("MESH_CA_FILE"));
  EXPECT_EQ(world_->config_text().find("tls {"), std::string::npos);
}

std::string version_name(const testing::TestParamInfo<std::string>& each) {
  std::string name = "v" + each.param;
  std::ranges::replace(name, '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Servers, TlsBeyondLoopback, testing::ValuesIn(server_versions()),
                         version_name);

}  // namespace
}  // namespace mesh::test
