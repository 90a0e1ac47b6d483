#include "controller/tls.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "certificates/certificate.h"
#include "model/read.h"
#include "os/files.h"
#include "tests/support/map_files.h"
#include "tests/support/nats_server.h"

namespace mesh::controller {
namespace {

using Hosts = std::vector<std::string>;

model::Mesh mesh_of(const std::string& tables) {
  auto reading = model::read_mesh(test::MapFiles(
      std::map<std::string, std::string>{{"mesh.toml", "mesh = \"home\"\n" + tables}}));
  EXPECT_TRUE(reading.mesh) << tables;
  return std::move(*reading.mesh);
}

TEST(ServedHosts, AreThoseByWhichTheServerIsDialled) {
  const Hosts machine{"192.0.2.2", "host"};
  struct Case {
    std::string tables;
    Served server;
    Hosts hosts;
  };
  for (const auto& each : {
           Case{"[bus]\nlisten = \"10.0.0.1:4222\"\n", Served::Bus, {"10.0.0.1"}},
           Case{"[bus]\nlisten = \"[fd00::1]:4222\"\nadvertise = [\"Bus.Home\", "
                "\"tls://[fd00::2]:1\"]\n[nodes.one]\nbus = \"nats://bus.vpn:4222\"\n",
                Served::Bus,
                {"bus.home", "bus.vpn", "fd00::1", "fd00::2"}},
           Case{"[bus]\nlisten = \"0.0.0.0:4222\"\n",
                Served::Bus,
                {"127.0.0.1", "192.0.2.2", "::1", "host", "localhost"}},
           Case{"[bus]\nlisten = \"0.0.0.0:4222\"\nadvertise = \"bus.home\"\n",
                Served::Bus,
                {"127.0.0.1", "::1", "bus.home", "localhost"}},
           Case{"[registry]\nlisten = \"10.0.0.1:5000\"\n[nodes.one]\nregistry = "
                "\"images.vpn:5000\"\nbus = \"nats://bus.vpn\"\n",
                Served::Registry,
                {"10.0.0.1", "images.vpn"}},
       }) {
    EXPECT_EQ(served_hosts(mesh_of(each.tables), each.server, machine), each.hosts) << each.tables;
  }
}

TEST(ServedHosts, AreDialledByUrlsOfTheSameHosts) {
  const Hosts machine{"192.0.2.2", "fd00::2"};
  const auto urls = [&](const std::string& bus) {
    const auto mesh = mesh_of("[nodes.one]\n[bus]\n" + bus);
    return dialled_urls(mesh, mesh.nodes.front(), machine);
  };
  EXPECT_EQ(urls("listen = \"0.0.0.0:1\"\n"), (Hosts{"tls://192.0.2.2:1", "tls://[fd00::2]:1"}));
  EXPECT_EQ(urls("listen = \"[::]:1\"\ninsecure = true\n"),
            (Hosts{"nats://192.0.2.2:1", "nats://[fd00::2]:1"}));
  EXPECT_EQ(urls("listen = \"0.0.0.0:1\"\nadvertise = \"bus.home:2\"\n"),
            Hosts{"tls://bus.home:2"});
  EXPECT_EQ(urls("listen = \"10.0.0.1:1\"\n"), Hosts{"tls://10.0.0.1:1"});
  EXPECT_EQ(urls("listen = \"127.0.0.1:1\"\n"), Hosts{"nats://127.0.0.1:1"});
}

class ServerCertificate : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(inventory::create_state(paths_.root(), "home", clock_, random_));
  }
  std::string due(const std::string& bus) {
    const auto found = certificate_due(paths_, mesh_of("[bus]\n" + bus), Served::Bus, clock_.now());
    EXPECT_TRUE(found) << found.error().message;
    return found && *found ? **found : "";
  }
  bool renew(const std::string& bus) {
    const auto done =
        renew_certificate(paths_, mesh_of("[bus]\n" + bus), Served::Bus, clock_.now());
    EXPECT_TRUE(done) << done.error().message;
    return done.value_or(false);
  }

  test::TemporaryDirectory directory_;
  inventory::StatePaths paths_{(directory_.path() / ".mesh").string()};
  os::ManualClock clock_{os::parse_rfc3339("2026-08-21T09:30:00Z").value()};
  os::SystemRandom random_;
  const std::string there_ = "listen = \"10.0.0.1:4222\"\n";
};

TEST_F(ServerCertificate, IsDueWhenLessThanAThirdOfItsLifeIsLeft) {
  EXPECT_EQ(due(there_), "it has no certificate yet");
  EXPECT_TRUE(renew(there_));
  EXPECT_EQ(due(there_), "");
  EXPECT_FALSE(renew(there_));
  clock_.advance(std::chrono::days{59});
  EXPECT_EQ(due(there_), "");
  EXPECT_FALSE(is_certificate_old(paths_, Served::Bus, clock_.now()));
  clock_.advance(std::chrono::days{1});
  EXPECT_EQ(due(there_), "its certificate ends 2026-11-19T09:30:00Z");
  EXPECT_TRUE(is_certificate_old(paths_, Served::Bus, clock_.now()));
  EXPECT_TRUE(renew(there_));
  EXPECT_EQ(due(there_), "");
}

TEST_F(ServerCertificate, IsDueWhenTheHostsChange) {
  ASSERT_TRUE(renew(there_));
  EXPECT_EQ(due(there_ + "advertise = \"bus.home\"\n"), "its certificate does not name bus.home");
  ASSERT_TRUE(renew(there_ + "advertise = \"bus.home\"\n"));
  EXPECT_EQ(due(there_), "its certificate names bus.home, by which it is not dialled");
}

TEST_F(ServerCertificate, IsDueWhenItIsOfAnotherAuthorityOrTheClockWentBack) {
  ASSERT_TRUE(renew(there_));
  clock_.advance(-std::chrono::hours{1});
  EXPECT_EQ(due(there_), "") << "an hour back is allowed";
  clock_.advance(-std::chrono::hours{1});
  EXPECT_EQ(due(there_),
            "its certificate begins 2026-08-21T08:30:00Z, later than this machine's clock");
  const auto other = certificates::make_authority("other", clock_.now()).value();
  const Hosts hosts{"10.0.0.1"};
  const auto foreign = certificates::issue(other, hosts, clock_.now()).value();
  ASSERT_TRUE(os::write_file_atomic(certificate_file(paths_, Served::Bus),
                                    foreign.together().reveal(), os::kPrivateFile));
  EXPECT_EQ(due(there_), "its certificate is not of this mesh's authority");
  ASSERT_TRUE(
      os::write_file_atomic(certificate_file(paths_, Served::Bus), "damaged", os::kPrivateFile));
  EXPECT_EQ(due(there_), "its certificate cannot be read");
}

TEST_F(ServerCertificate, IsNotDueWhereThereIsNoTls) {
  for (const auto* bus :
       {"listen = \"127.0.0.1:4222\"\n", "listen = \"10.0.0.1:1\"\ninsecure = true\n",
        "server = \"external\"\nconfig = \"x\"\n"}) {
    EXPECT_EQ(due(bus), "");
    EXPECT_FALSE(renew(bus));
  }
}

TEST_F(ServerCertificate, IsProlongedForTheSameHosts) {
  EXPECT_FALSE(prolong_certificate(paths_, Served::Bus, clock_.now()).value());
  ASSERT_TRUE(renew(there_));
  const auto before = certificate_mark(paths_, Served::Bus);
  EXPECT_FALSE(prolong_certificate(paths_, Served::Bus, clock_.now()).value());
  clock_.advance(std::chrono::days{61});
  EXPECT_TRUE(prolong_certificate(paths_, Served::Bus, clock_.now()).value());
  EXPECT_NE(certificate_mark(paths_, Served::Bus), before);
  EXPECT_EQ(due(there_), "");
}

}  // namespace
}  // namespace mesh::controller
