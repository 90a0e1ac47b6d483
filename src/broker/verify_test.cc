#include "broker/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "base/text.h"
#include "natsconf/digest.h"
#include "tests/support/composed_config.h"
#include "tests/support/generated_mesh.h"
#include "tests/support/mesh_builder.h"

namespace mesh::broker {
namespace {

std::string shown(const std::vector<model::Problem>& problems) {
  std::string out;
  for (const auto& problem : problems) {
    out += fmt::format("{}: {}: {}\n", problem.place.line, problem.code, problem.message);
  }
  return out;
}

/// `text` with the first `from` after `after` replaced.
std::string replaced(std::string text, std::string_view after, std::string_view from,
                     std::string_view to) {
  const std::size_t start = text.find(after);
  const std::size_t at = start == std::string::npos ? start : text.find(from, start);
  EXPECT_NE(at, std::string::npos) << after << " / " << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

int line_of(const std::string& text, std::string_view part) {
  return static_cast<int>(std::ranges::count(text.substr(0, text.find(part)), '\n')) + 1;
}

class VerifyTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(composed_.text) << composed_.text.error().message; }

  [[nodiscard]] const std::string& text() const { return *composed_.text; }
  [[nodiscard]] std::vector<model::Problem> verified(const std::string& text) const {
    return verify(text, composed_.principals, "nats.conf");
  }
  /// Expects a problem of `code`, and returns its line.
  int expect(const std::string& changed, std::string_view code) const {
    const auto problems = verified(changed);
    for (const auto& problem : problems) {
      if (problem.code == code) {
        return problem.place.line;
      }
    }
    ADD_FAILURE() << "no " << code << " in:\n" << shown(problems);
    return -1;
  }

  test::Composed composed_ = test::compose_for(test::shop_mesh());
};

TEST_F(VerifyTest, TheComposedTextHolds) {
  EXPECT_EQ(shown(verified(text())), "");
}

TEST_F(VerifyTest, EveryDrawnMeshHolds) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto drawn = test::compose_for(test::generated_mesh(seed));
    ASSERT_TRUE(drawn.text) << drawn.text.error().message;
    ASSERT_EQ(shown(verify(*drawn.text, drawn.principals)), "") << "seed " << seed;
  }
}

TEST_F(VerifyTest, NamesTheLineAndTheSubject) {
  const std::string changed =
      replaced(text(), "user: \"two.audit\"", "\"_INBOX.two.audit.>\"", "\"_INBOX.>\"");
  const auto problems = verified(changed);
  ASSERT_EQ(problems.size(), 2U) << shown(problems);
  EXPECT_EQ(problems[0].code, "missing-grant");
  EXPECT_EQ(problems[1].code, "extra-grant");
  EXPECT_EQ(problems[1].message, "two.audit may subscribe \"_INBOX.>\", which is not granted");
  EXPECT_EQ(problems[1].place.line, line_of(changed, "\"_INBOX.>\""));
  EXPECT_EQ(problems[1].place.file_name(), "nats.conf");
}

TEST_F(VerifyTest, Grants) {
  const std::string user = "user: \"two.audit\"";
  expect(replaced(text(), user, "\"_INBOX.two.audit.>\"", ""), "missing-grant");
  expect(replaced(text(), user, "\"_INBOX.two.audit.>\"", "\"_INBOX.two.audit.>\"\n\"x\""),
         "extra-grant");
  expect(replaced(text(), user, "\"_INBOX.two.audit.>\"",
                  "\"_INBOX.two.audit.>\"\n\"_INBOX.two.audit.>\""),
         "duplicate-grant");
  expect(replaced(text(), user, "allow: [", "allow: []\nx: ["), "empty-list");
  expect(replaced(text(), user, "allow: [", "deny: [\"a\"]\nallow: ["), "denial");
  expect(replaced(text(), user, "publish: {", "publish_: {"), "empty-list");
  expect(replaced(text(), user, "permissions: {", "permissions_: {"), "no-permissions");
  expect(replaced(text(), user, "permissions: {", "PUBLISH: \">\"\npermissions: {"),
         "unknown-setting");
  expect(replaced(text(), user, "publish: {", "PUB: \">\"\npublish: {"), "unknown-setting");
  expect(replaced(text(), user, "max: 1", "max: 2"), "responses");
  expect(replaced(text(), user, "max: 1", "max: -1"), "responses");
  expect(replaced(text(), user, "\"1m\"", "\"1h\""), "responses");
  expect(replaced(text(), user, "allow_responses: {", "allow_responses: true\nx: {"), "responses");
  expect(replaced(text(), user, "allow_responses: {", "allow_responses: false\nx: {"), "responses");
}

TEST_F(VerifyTest, Users) {
  const std::string user = "user: \"two.audit\"";
  const std::string evil = "{ user: evil, password: \"" + test::fake_hash("evil") + "\" }\n";
  expect(replaced(text(), "\"audit\": {", "users: [", "users: [\n" + evil), "unknown-user");
  expect(replaced(text(), "", user, "user: \"evil\""), "missing-user");
  expect(replaced(text(), "", user, "user: \"two.shop\""), "duplicate-user");
  expect(replaced(text(), user, "password: \"", "password: \"x\"\n# \""), "password");
  expect(replaced(text(), user, user, user + "\nnkey: U1"), "unknown-setting");
  expect(replaced(text(), "\"audit\": {", "\"audit\"", "\"audit2\""), "wrong-account");
  expect(replaced(text(), "user: \"controller\"", "user: \"controller\"",
                  "user: \"controller\"\npermissions: { publish: x }"),
         "extra-permissions");
  expect(replaced(text(), "", "user: \"controller.system\"", "user: \"root\""), "missing-user");
}

TEST_F(VerifyTest, ExportsAndImports) {
  const std::string audit = "\"audit\": {";
  const std::string evil =
      "{ service: { account: \"MESH\", subject: \"mesh.node.one.report\" } }\n";
  expect(replaced(text(), audit, "imports: [", "imports: [\n" + evil), "extra-import");
  expect(replaced(text(), audit, "\"mesh.void\"", "\"mesh.seat.>\""), "missing-import");
  expect(replaced(text(), audit, "\"$JS.API.CONSUMER.INFO.EVENTS.two_audit\" }",
                  "\"$JS.API.CONSUMER.INFO.EVENTS.*\" }"),
         "extra-import");
  expect(replaced(text(), audit, "imports: [",
                  "imports: [\n{ service: { account: MESH, subject: \"$JS.API.>\" } }\n"),
         "wildcard-import");
  expect(replaced(text(), audit, "imports: [",
                  "imports: [\n{ stream: { account: TOOLS, subject: a } }\n"),
         "forbidden-import");
  expect(replaced(text(), "", ", account_token_position: 3", ""), "extra-export");
  expect(replaced(text(), "", "account_token_position: 3", "account_token_position: 2"),
         "extra-export");
  // The same to a reader that looks at 32 bits.
  expect(replaced(text(), "", "account_token_position: 3", "account_token_position: 4294967299"),
         "unknown-setting");
  expect(replaced(text(), "", ", response_type: \"stream\"", ""), "extra-export");
  expect(replaced(text(), "\"MESH\": {", "exports: [", "exports: [\n{ service: \"$JS.API.>\" }"),
         "extra-export");
  expect(replaced(text(), audit, "exports: [", "exports: [\n{ stream: \">\" }"), "extra-export");
  expect(replaced(text(), audit, "exports: [", "exports: [\n{ stream: a, accounts: [ x ] }"),
         "unknown-setting");
}

TEST_F(VerifyTest, Settings) {
  for (const std::string setting : {"leafnodes {}",
                                    "leafnodes: { listen: \"127.0.0.1:1\" }",
                                    "mqtt { port: 1883 }",
                                    "websocket { port: 80, no_tls: true }",
                                    "http: 8222",
                                    "https_port: 8222",
                                    "prof_port: 1",
                                    "gateway { name: a }",
                                    "mappings: { a: b }",
                                    "no_auth_user: \"controller\"",
                                    "authorization { users: [ { user: a, password: b } ] }",
                                    "authorization { user: a }",
                                    "cluster { port: 1 }",
                                    "operator: x",
                                    "debug: true",
                                    "accounts: {}",
                                    "accounts { \"MESH\": {} }",
                                    "default_permissions: {}",
                                    "Leafnodes {}",
                                    "HTTP_port: 1",
                                    "ACCOUNTS {}"}) {
    EXPECT_NE(shown(verified(text() + setting + "\n")), "") << setting;
    EXPECT_NE(shown(verified(setting + "\n" + text())), "") << setting;
  }
  expect("include \"a.conf\"\n" + text(), "not-a-configuration");
  expect(replaced(text(), "", "system_account: \"SYS\"", ""), "system-account");
  expect(replaced(text(), "", "system_account: \"SYS\"", "system_account: \"MESH\""),
         "system-account");
  expect(text() + "feature_flags { js_ack_fc_v2: true }\n", "ack-shape");
}

TEST_F(VerifyTest, Accounts) {
  const std::string audit = "\"audit\": {";
  for (const std::string setting :
       {"mappings: { a: b }", "default_permissions: { publish: x }", "trace_dest: a", "nkey: A1",
        "jetstream: { max_mem: 1 }", "jetstream: enabled", "limits: { max_leafnodes: 1 }"}) {
    const std::string with_setting = fmt::format("{}\n{}", audit, setting);
    EXPECT_NE(shown(verified(replaced(text(), audit, audit, with_setting))), "") << setting;
  }
  expect(replaced(text(), "", audit, "evil: {}\n" + audit), "unknown-account");
  expect(replaced(text(), "", audit, "audit: {}\n" + audit), "unknown-setting");
  expect(replaced(text(), audit, "limits: {", "limits_: {"), "missing-limit");
  // An account that a variable names is skipped by the server.
  expect(text() + "accounts2: { a: 1 }\n", "unknown-setting");
}

/// Every line left out or written twice, every word in quotes changed: all of it must be seen, but
/// for what changes nothing and for values that the declarations do not decide.
class MutationTest : public VerifyTest {
 protected:
  void SetUp() override {
    VerifyTest::SetUp();
    const auto document = natsconf::parse(text());
    ASSERT_TRUE(document);
    digest_ = natsconf::config_digest(*document);
  }

  /// True where `line` holds something that no declaration decides.
  static bool is_free(std::string_view line) {
    static const std::regex kFree(
        R"(\s*(#.*|listen: .*|server_name: .*|max_payload: .*|write_deadline: .*|timeout: .*|)"
        R"(authorization: .*|store_dir: .*|max_memory_store: .*|max_file_store: .*|jetstream: \{|)"
        R"(max_connections: .*|max_subscriptions: .*|password: .*)?)");
    return std::regex_match(line.begin(), line.end(), kFree);
  }

  void expect_seen(const std::string& changed, std::string_view what) {
    const auto document = natsconf::parse(changed);
    if (document && natsconf::config_digest(*document) == digest_) {
      return;
    }
    ++mutations_;
    EXPECT_FALSE(verified(changed).empty()) << what;
  }

  std::string digest_;
  int mutations_ = 0;
};

TEST_F(MutationTest, EveryLineCounts) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(text(), '\n')) {
    lines.emplace_back(line);
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool limit = lines[i].find("max_") != std::string::npos;
    if (is_free(lines[i]) && !limit) {
      continue;
    }
    const std::string line = lines[i];
    lines[i] = fmt::format("{}\n{}", line, line);
    expect_seen(join(lines, "\n"), fmt::format("line {} twice: {}", i + 1, line));
    lines[i].clear();
    if (i > 20 || !limit) {  // the first limits are the server's own
      expect_seen(join(lines, "\n"), fmt::format("line {} left out: {}", i + 1, line));
    }
    lines[i] = line;
  }
  EXPECT_GT(mutations_, 300);
}

TEST_F(MutationTest, EveryWordCounts) {
  const std::regex quoted_word("\"[^\"]*\"");
  std::size_t start = 0;
  for (const std::string_view line : split(text(), '\n')) {
    const std::string copy(line);
    for (auto word = std::sregex_iterator(copy.begin(), copy.end(), quoted_word);
         !is_free(line) && word != std::sregex_iterator(); ++word) {
      const auto at = start + static_cast<std::size_t>(word->position());
      const std::string inner = word->str().substr(1, word->str().size() - 2);
      for (const std::string& other :
           {std::string(), std::string(">"), std::string("MESH"), std::string("audit"),
            std::string("mesh.mod.shop.event.order.placed"), inner + "x", inner + ".>",
            inner + " q", inner.substr(0, inner.rfind('.')) + ".>",
            inner.substr(0, inner.rfind('.')) + ".*",
            "*" + inner.substr(std::min(inner.size(), inner.find('.')))}) {
        std::string changed = text();
        changed.replace(at, word->str().size(), "\"" + other + "\"");
        expect_seen(changed, fmt::format("{} for {}", other, copy));
      }
    }
    start += line.size() + 1;
  }
  EXPECT_GT(mutations_, 1500);
}

}  // namespace
}  // namespace mesh::broker
