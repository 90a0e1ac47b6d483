#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "certificates/certificate.h"

namespace mesh::certificates {
namespace {

using namespace std::chrono_literals;
using Hosts = std::vector<std::string>;

const os::WallTime kNow = os::parse_rfc3339("2026-08-21T09:30:00Z").value();

Pair authority(const std::string& id = "0123456789abcdef0123456789abcdef") {
  auto made = make_authority(id, kNow);
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

Pair issued(const Pair& by, const Hosts& hosts, os::WallTime now = kNow) {
  auto made = issue(by, hosts, now);
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

Facts facts(const Pair& pair) {
  auto read = read_facts(pair.certificate);
  EXPECT_TRUE(read) << read.error().message;
  return *std::move(read);
}

TEST(Certificates, AServersOneIsItsAuthoritysAndNoOthers) {
  const Pair ours = authority();
  const Pair others = authority("ffffffffffffffffffffffffffffffff");
  const Pair server = issued(ours, {"10.0.0.1"});
  EXPECT_TRUE(is_signed_by(server.certificate, ours.certificate));
  EXPECT_FALSE(is_signed_by(server.certificate, others.certificate));
  EXPECT_FALSE(is_signed_by(ours.certificate, server.certificate));
  EXPECT_FALSE(is_signed_by("", ours.certificate));
  EXPECT_FALSE(is_signed_by(server.certificate, "no PEM"));
}

TEST(Certificates, LastNinetyDaysFromAnHourBefore) {
  const Facts read = facts(issued(authority(), {"bus.home"}));
  EXPECT_EQ(read.from, kNow - 1h);
  EXPECT_EQ(read.until, kNow + std::chrono::days{90});
  EXPECT_EQ(facts(authority()).until, kNow + kAuthorityLife);
}

TEST(Certificates, EndWithTheirAuthority) {
  const Pair ours = authority();
  const os::WallTime late = kNow + kAuthorityLife - std::chrono::days{1};
  EXPECT_EQ(facts(issued(ours, {"bus.home"}, late)).until, kNow + kAuthorityLife);
}

TEST(Certificates, NameEachHostOnceInItsNormalForm) {
  const Hosts given{"fd00:0:0::2", "Bus.Home", "10.0.0.1", "bus.home", "localhost"};
  const Hosts normal{"10.0.0.1", "bus.home", "fd00::2", "localhost"};
  EXPECT_EQ(normal_hosts(given), normal);
  EXPECT_EQ(facts(issued(authority(), given)).hosts, normal);
}

TEST(Certificates, AreNotForNobodyNorForWhatIsNoHost) {
  for (const Hosts& hosts :
       {Hosts{}, Hosts{""}, Hosts{"a b"}, Hosts{"bus.home", std::string(300, 'a')},
        Hosts{std::string("a\0b", 3)}, Hosts{"bücher"}}) {
    const auto made = issue(authority(), hosts, kNow);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, Code::InvalidArgument);
  }
}

TEST(Certificates, ALongFirstNameIsNamedInFull) {
  const std::string name = std::string(60, 'a') + "." + std::string(60, 'b');
  EXPECT_EQ(facts(issued(authority(), {name})).hosts, Hosts{name});
}

TEST(Certificates, APairComesBackFromItsText) {
  const Pair ours = authority();
  const auto again = read_pair(ours.together().reveal());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->certificate, ours.certificate);
  EXPECT_TRUE(again->key.equals(ours.key));
  EXPECT_TRUE(is_signed_by(issued(*again, {"a"}).certificate, ours.certificate));
}

TEST(Certificates, APairThatIsNoneIsRefused) {
  const Pair ours = authority();
  const Pair other = authority();
  const std::string whole(ours.together().reveal());
  const std::string mixed = ours.certificate + std::string(other.key.reveal());
  for (const std::string& text : {std::string(), ours.certificate, std::string(ours.key.reveal()),
                                  mixed, whole.substr(0, whole.size() - 40), std::string("x")}) {
    const auto read = read_pair(text);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Code::Corrupt);
    EXPECT_EQ(read.error().message.find("BEGIN"), std::string::npos);
  }
  EXPECT_EQ(read_facts("x").error().code, Code::Corrupt);
}

TEST(Certificates, NoTwoAreTheSame) {
  const Pair ours = authority();
  EXPECT_NE(issued(ours, {"a"}).certificate, issued(ours, {"a"}).certificate);
}

}  // namespace
}  // namespace mesh::certificates
