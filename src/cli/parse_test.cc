#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/arguments.h"

namespace mesh::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Count = PositionalSpec::Count;
using Words = std::vector<std::string>;

std::vector<VerbSpec> specs() {
  return {
      {.name = "grants",
       .summary = "",
       .example = "",
       .positionals = {{"PRINCIPAL", "one", Count::Optional, {}}},
       .options = {}},
      {.name = "push",
       .summary = "",
       .example = "",
       .positionals = {},
       .options = {{"--plan", "DIGEST", ""}, {"--yes", "", ""}, {"--node", "N", "", true}}},
      {.name = "who",
       .summary = "",
       .example = "",
       .positionals = {{"HOW", "publish or hear", Count::One, {"publish", "hear"}},
                       {"SUBJECT", "a subject", Count::One, {}}},
       .options = {}},
      {.name = "env",
       .summary = "",
       .example = "",
       .positionals = {{"INSTANCE", "an instance", Count::One, {}}},
       .options = {{"--component", "NAME", ""}},
       .takes_command = true},
      {.name = "secret",
       .summary = "",
       .example = "",
       .positionals = {{"MODULE", "a module", Count::Optional, {}},
                       {"NAME", "a name", Count::One, {}}},
       .options = {}},
      {.name = "build",
       .summary = "",
       .example = "",
       .positionals = {{"MODULE", "modules", Count::Many, {}}},
       .options = {}},
  };
}

Result<CommandLine> parsed(const Words& words) {
  const auto known = specs();
  return parse(words, known);
}

void expect_usage(const Words& words, const std::string& message, const std::string& hint) {
  const auto line = parsed(words);
  ASSERT_FALSE(line) << ::testing::PrintToString(words);
  EXPECT_EQ(line.error().code, Code::Usage);
  EXPECT_THAT(line.error().message, HasSubstr(message));
  EXPECT_THAT(line.error().hint, HasSubstr(hint));
}

TEST(Parse, GlobalOptionsStandBeforeOrAfterTheVerb) {
  const std::vector<Words> lines = {
      {"-C", "dir", "--json", "--timeout", "5s", "--state=s", "grants", "one"},
      {"grants", "-C", "dir", "--json", "one", "--timeout=5s", "--state", "s"},
      {"--json", "grants", "one", "-Cdir", "--state", "s", "--timeout", "5000ms"},
  };
  for (const auto& words : lines) {
    const auto line = parsed(words);
    ASSERT_TRUE(line) << line.error().message << ::testing::PrintToString(words);
    EXPECT_EQ(line->verb, "grants");
    EXPECT_EQ(line->globals.directory, "dir");
    EXPECT_EQ(line->globals.state, "s");
    EXPECT_TRUE(line->globals.json);
    EXPECT_EQ(line->globals.timeout, std::chrono::milliseconds(5000));
    EXPECT_EQ(line->arguments.positional("PRINCIPAL"), "one");
  }
}

TEST(Parse, OptionsOfAVerb) {
  const auto line = parsed({"push", "--node", "a", "--yes", "--plan", "sha256:1", "--node=b"});
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_TRUE(line->arguments.flag("--yes"));
  EXPECT_EQ(line->arguments.value("--plan"), "sha256:1");
  EXPECT_THAT(line->arguments.values("--node"), ElementsAre("a", "b"));
  EXPECT_FALSE(parsed({"push"})->arguments.flag("--yes"));
}

TEST(Parse, OptionalPositionalsLeaveTheRequiredOnesTheirWords) {
  const auto one = parsed({"secret", "KEY"});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->arguments.positional("MODULE"), std::nullopt);
  EXPECT_EQ(one->arguments.positional("NAME"), "KEY");
  const auto two = parsed({"secret", "shop", "KEY"});
  ASSERT_TRUE(two);
  EXPECT_EQ(two->arguments.positional("MODULE"), "shop");
  EXPECT_EQ(two->arguments.positional("NAME"), "KEY");
}

TEST(Parse, ManyPositionals) {
  EXPECT_THAT(parsed({"build"})->arguments.many("MODULE"), IsEmpty());
  EXPECT_THAT(parsed({"build", "a", "b"})->arguments.many("MODULE"), ElementsAre("a", "b"));
}

TEST(Parse, ACommandKeepsEveryWordBehindTheDashes) {
  const auto line = parsed({"env", "two.shop", "--", "sh", "-c", "--json", "--", "x"});
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_THAT(line->arguments.command(), ElementsAre("sh", "-c", "--json", "--", "x"));
  EXPECT_FALSE(line->globals.json);
}

TEST(Parse, DashesMakeAnyWordAPositionalOfAVerbWithoutACommand) {
  const auto line = parsed({"grants", "--", "--odd"});
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(line->arguments.positional("PRINCIPAL"), "--odd");
}

TEST(Parse, APositionalMayBeNamedLikeAVerb) {
  const auto line = parsed({"grants", "push"});
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(line->verb, "grants");
  EXPECT_EQ(line->arguments.positional("PRINCIPAL"), "push");
}

TEST(Parse, TyposGetTheNearestWord) {
  expect_usage({"grant"}, "no verb 'grant'", "`mesh grants`");
  expect_usage({"xyzzy"}, "no verb 'xyzzy'", "mesh --help");
  expect_usage({"push", "--pln", "x"}, "unknown option --pln", "--plan");
  expect_usage({"push", "--jsn"}, "unknown option --jsn", "--json");
  expect_usage({"--jsn", "push"}, "unknown option --jsn", "--json");
  expect_usage({"push", "--frobnicate=3"}, "unknown option --frobnicate", "mesh push --help");
  expect_usage({"who", "publsh", "x"}, "no 'publsh'", "publish");
  expect_usage({"who", "q", "x"}, "no 'q'", "publish, hear");
}

TEST(Parse, MissingAndSurplusWords) {
  expect_usage({"who"}, "HOW is missing", "mesh who --help");
  expect_usage({"who", "hear"}, "SUBJECT is missing", "mesh who --help");
  expect_usage({"who", "hear", "a", "b"}, "unexpected argument 'b'", "mesh who --help");
  expect_usage({"env", "two.shop", "ls"}, "unexpected argument 'ls'", "after --");
  expect_usage({"push", "--plan"}, "--plan needs a value", "--help");
  expect_usage({"--timeout"}, "--timeout needs a value", "--help");
  expect_usage({"push", "--yes=maybe"}, "--yes", "--help");
  expect_usage({"push", "--plan", "a", "--plan", "b"}, "--plan is given twice", "mesh push --help");
}

TEST(Parse, Timeouts) {
  EXPECT_EQ(parsed({"push", "--timeout", "1h30m"})->globals.timeout, std::chrono::minutes(90));
  for (const auto* bad : {"5", "", "s", "-5s", "5x", "0s", "99999999999999999999s", "1e3s",
                          "40000d", "5 s", "9223372036854775807ms"}) {
    expect_usage({"push", std::string("--timeout=") + bad}, "", "");
  }
}

TEST(Parse, HelpForgivesWhatIsMissing) {
  for (const auto& words :
       std::vector<Words>{{"who", "--help"}, {"who", "-h"}, {"--help", "who"}}) {
    const auto line = parsed(words);
    ASSERT_TRUE(line);
    EXPECT_TRUE(line->globals.help);
    EXPECT_EQ(line->verb, "who");
  }
  EXPECT_TRUE(parsed({"--version"})->globals.version);
  EXPECT_EQ(parsed({})->verb, "");
}

}  // namespace
}  // namespace mesh::cli
