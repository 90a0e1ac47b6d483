#include "broker/compose.h"

#include <gtest/gtest.h>

#include <random>

#include "broker/config_view.h"
#include "tests/support/composed_config.h"
#include "tests/support/generated_mesh.h"
#include "tests/support/mesh_builder.h"

namespace mesh::broker {
namespace {

Principal principal(std::string name, std::string account) {
  Principal p;
  p.name = std::move(name);
  p.account = std::move(account);
  p.publish = {{"a", {}}};
  p.subscribe = {{"b", {}}};
  return p;
}

Account account(std::string name, std::vector<std::string> users) {
  Account a;
  a.name = std::move(name);
  a.users = std::move(users);
  return a;
}

TEST(ComposeTest, WhatIsReadBackIsWhatWasMeant) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto composed = test::compose_for(test::generated_mesh(seed));
    ASSERT_TRUE(composed.text);
    const auto view = read_view(*composed.text);
    ASSERT_TRUE(view) << view.error().message;
    ASSERT_TRUE(view->unread.empty()) << view->unread.front().path;
    ASSERT_EQ(view->accounts.size(), composed.accounts.size());
    for (std::size_t i = 0; i < composed.accounts.size(); ++i) {
      const Account& wanted = composed.accounts[i];
      const AccountView& has = view->accounts[i];
      EXPECT_EQ(has.name, wanted.name);
      EXPECT_EQ(has.jetstream, wanted.jetstream);
      EXPECT_EQ(has.limits.connections, wanted.limits.connections);
      EXPECT_EQ(has.limits.subscriptions, wanted.limits.subscriptions);
      EXPECT_EQ(has.limits.payload, wanted.limits.payload);
      ASSERT_EQ(has.exports.size(), wanted.exports.size());
      for (std::size_t j = 0; j < wanted.exports.size(); ++j) {
        EXPECT_EQ(has.exports[j].value, wanted.exports[j]);
      }
      ASSERT_EQ(has.imports.size(), wanted.imports.size());
      for (std::size_t j = 0; j < wanted.imports.size(); ++j) {
        EXPECT_EQ(has.imports[j].value, wanted.imports[j]);
      }
      ASSERT_EQ(has.users.size(), wanted.users.size());
      for (std::size_t j = 0; j < wanted.users.size(); ++j) {
        EXPECT_EQ(has.users[j].name, wanted.users[j]);
        EXPECT_EQ(has.users[j].password, test::fake_hash(wanted.users[j]));
      }
    }
  }
}

/// Nothing that stands in quotes can say anything but itself.
TEST(ComposeTest, AnyBytesSurvive) {
  std::mt19937 random(7);  // NOLINT: the same draws each time
  static constexpr char kBytes[] = "\"'\\\n\r\t \0$#{}[](),;:=/x4aé\x7f\xff";
  const std::string alphabet(kBytes, sizeof kBytes - 1);
  const auto draw = [&] {
    std::string out = "u";
    for (auto length = random() % 20; length > 0; --length) {
      out += alphabet[random() % alphabet.size()];
    }
    return out;
  };
  for (int i = 0; i < 2000; ++i) {
    Principal drawn = principal(draw(), "m");
    drawn.publish.front().subject = draw();
    const std::string hash = draw();
    const auto text = compose({}, std::vector{account("m", {drawn.name})}, std::vector{drawn},
                              {{drawn.name, hash}});
    ASSERT_TRUE(text);
    const auto view = read_view(*text);
    ASSERT_TRUE(view) << *text;
    const UserView& user = view->accounts.at(0).users.at(0);
    EXPECT_EQ(user.name, drawn.name);
    EXPECT_EQ(user.password, hash);
    EXPECT_EQ(user.publish(), std::vector{drawn.publish.front().subject});
  }
}

TEST(ComposeTest, RefusesWhatWouldGrantEverything) {
  Principal silent = principal("u", "m");
  silent.publish.clear();
  const auto text =
      compose({}, std::vector{account("m", {"u"})}, std::vector{silent}, {{"u", "h"}});
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, Code::Internal);
  EXPECT_EQ(text.error().message, "u has an empty list of subjects, which grants everything");

  EXPECT_FALSE(compose({}, std::vector{account("m", {"u"})}, {}, {{"u", "h"}}))
      << "a user that is no principal";
  EXPECT_FALSE(compose({}, std::vector{account("m", {"u"})}, std::vector{principal("u", "m")}, {}))
      << "no hash";
  EXPECT_FALSE(compose({}, std::vector{account("a\"b", {})}, {}, {}));
}

TEST(ComposeTest, AnExternalServersFileSaysOnlyWhatIsOurs) {
  ServerSettings settings;
  const auto composed = test::compose_for(test::small_mesh(), settings);
  ASSERT_TRUE(composed.text);
  const auto view = read_view(*composed.text);
  ASSERT_TRUE(view);
  ASSERT_EQ(view->settings.size(), 1U);
  EXPECT_EQ(view->setting("system_account"), "SYS");
}

TEST(ComposeTest, Settings) {
  ServerSettings settings = test::managed_settings(true);
  settings.tls = ServerTls{"/a/cert.pem", "/a/key.pem"};
  const auto composed = test::compose_for(test::small_mesh(), settings);
  ASSERT_TRUE(composed.text);
  const auto view = read_view(*composed.text);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->setting("listen"), "127.0.0.1:4222");
  EXPECT_EQ(view->setting("jetstream.store_dir"), "/var/lib/mesh/jetstream");
  EXPECT_EQ(view->setting("server_name"), "home");
  EXPECT_EQ(view->setting("feature_flags.js_ack_fc_v2"), "false");
  EXPECT_EQ(view->setting("tls.cert_file"), "/a/cert.pem");
  EXPECT_EQ(view->setting("tls.key_file"), "/a/key.pem");
  EXPECT_EQ(view->setting("http"), "");
}

TEST(ComposeTest, ALargerPayloadIsAllowedByTheServerToo) {
  Account large = account("m", {});
  large.limits.payload = 8 << 20;
  const auto text = compose(test::managed_settings(), std::vector{large}, {}, {});
  ASSERT_TRUE(text);
  EXPECT_EQ(read_view(*text)->setting("max_payload"), "8388608");
}

}  // namespace
}  // namespace mesh::broker
