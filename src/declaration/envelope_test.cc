#include "declaration/envelope.h"

#include <gtest/gtest.h>

#include "declaration/report.h"
#include "declaration/token.h"
#include "secrets/sealed_box.h"

namespace mesh::declaration {
namespace {

secrets::SigningKey key(char c) {
  return secrets::SigningKey::from_seed(std::string(secrets::kSeedBytes, c)).value();
}

class EnvelopeTest : public ::testing::Test {
 protected:
  EnvelopeTest() {
    declared_.mesh = "m";
    declared_.node = "one";
    declared_.number = 5;
    declared_.bus.urls = {"nats://127.0.0.1:4222"};
    Component web;
    web.name = "web";
    web.run = {"sh", "-c", "true"};
    web.env = {{"A", {"line\nfeed \"'$#% \u00e4", std::nullopt}},
               {"B", {"", Sealed{"shop/secret/B"}}}};
    web.files = {{"/etc/x", std::string("\0\xff\n", 3)}};
    web.memory = 1 << 20;
    web.cpus = 0.5;
    web.health = Health{};
    declared_.modules = {{"shop",
                          "shop",
                          "one.shop",
                          "_INBOX.one.shop",
                          "",
                          "",
                          "{}",
                          {password_name("shop")},
                          {key_name("shop")},
                          {web}}};
  }
  [[nodiscard]] Trust trust(std::int64_t number = 4) const {
    return {"m", "one", key('c').public_key(), key('r').public_key(), number};
  }

  Declaration declared_;
};

TEST_F(EnvelopeTest, WhatIsWrittenIsRead) {
  const auto accepted = accept(seal_envelope(key('c'), declared_), trust());
  ASSERT_TRUE(accepted) << accepted.error().message;
  EXPECT_EQ(accepted->declaration, declared_);
  EXPECT_EQ(accepted->controller, key('c').public_key());
}

TEST_F(EnvelopeTest, RefusesWhatIsNotTheControllers) {
  const auto code = [&](const std::string& text, std::int64_t number = 4) {
    const auto accepted = accept(text, trust(number));
    return accepted ? std::string("accepted") : std::string(code_name(accepted.error().code));
  };
  const auto good = seal_envelope(key('c'), declared_);
  EXPECT_EQ(code(good), "accepted");
  EXPECT_EQ(code(good, 5), "conflict") << "an equal number";
  EXPECT_EQ(code(good, 6), "conflict") << "a lower number";
  EXPECT_EQ(code(seal_envelope(key('x'), declared_)), "permission-denied");
  EXPECT_EQ(code(good.substr(good.find('\n') + 1)), "permission-denied") << "unsigned";
  auto changed = good;
  changed[changed.find("127.0.0.1")] = '2';
  EXPECT_EQ(code(changed), "permission-denied");
  EXPECT_EQ(code(std::string(kLargest + 1, 'x')), "corrupt");
  auto other = declared_;
  other.node = "two";
  EXPECT_EQ(code(seal_envelope(key('c'), other)), "conflict");
  other = declared_;
  other.mesh = "n";
  EXPECT_EQ(code(seal_envelope(key('c'), other)), "conflict");
  other = declared_;
  other.format = kFormat + 1;
  EXPECT_EQ(code(seal_envelope(key('c'), other)), "unsupported");
  EXPECT_EQ(code(seal_envelope(key('x'), other)), "permission-denied");
  for (std::size_t cut = 0; cut < good.size(); cut += 7) {
    EXPECT_NE(code(good.substr(0, cut)), "accepted") << cut;
  }
}

TEST_F(EnvelopeTest, AnotherKeyIsCarriedByTheOldOneOrTheRecoveryKey) {
  for (const char by : {'c', 'r'}) {
    declared_.next_key = sign_next_key(key(by), "m", key('n').public_key());
    const auto accepted = accept(seal_envelope(key('n'), declared_), trust());
    ASSERT_TRUE(accepted) << by;
    EXPECT_EQ(accepted->controller, key('n').public_key());
  }
  declared_.next_key = sign_next_key(key('x'), "m", key('n').public_key());
  EXPECT_FALSE(accept(seal_envelope(key('n'), declared_), trust()));
  declared_.next_key = sign_next_key(key('c'), "other", key('n').public_key());
  EXPECT_FALSE(accept(seal_envelope(key('n'), declared_), trust()));
}

TEST(TokenTest, IsReadBackAndNeverQuoted) {
  Token token{"m",
              "one",
              {"tls://10.0.0.1:4222"},
              "PEM",
              key('c').public_key(),
              key('r').public_key(),
              secrets::Secret("pass word"),
              17};
  const std::string text(write_token(token).reveal());
  const auto read = read_token("  " + text + "\n");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->password.reveal(), "pass word");
  EXPECT_EQ(read->urls, token.urls);
  EXPECT_EQ(read->expires, 17);
  for (std::size_t cut = 0; cut < text.size(); cut += 3) {
    const auto bad = read_token(text.substr(0, cut));
    ASSERT_FALSE(bad) << cut;
    EXPECT_EQ(bad.error().code, Code::InvalidArgument);
  }
  auto mistyped = text;
  mistyped[mistyped.size() / 2] = mistyped[mistyped.size() / 2] == 'A' ? 'B' : 'A';
  EXPECT_FALSE(read_token(mistyped));
}

TEST(JoinTest, TheProofIsOfTheMeshTheNodeAndTheStart) {
  const auto request = request_join(key('k'), "m", "one", "i");
  EXPECT_TRUE(is_proved(request, "m", "one", "i"));
  EXPECT_FALSE(is_proved(request, "m", "two", "i"));
  EXPECT_FALSE(is_proved(request, "n", "one", "i"));
  EXPECT_FALSE(is_proved(request, "m", "one", "j"));
}

TEST(ReportTest, WhatIsWrittenIsRead) {
  Report report;
  report.mesh = "m";
  report.node = "one";
  report.incarnation = "i";
  report.sequence = 3;
  report.number = 7;
  report.modules = {
      {"shop", false, true, "why", {{"web", "failed", "sha256:x", 2, "t", "b", {"l"}, {"p"}, 9}}}};
  report.refused = Refusal{"conflict", "lower"};
  report.join = request_join(key('k'), "m", "one", "i");
  const auto read = read_report(write(report));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, report);
}

}  // namespace
}  // namespace mesh::declaration
