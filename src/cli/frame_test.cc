#include "cli/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/help.h"
#include "cli/testing.h"

namespace mesh::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Shell;
using ::testing::StartsWith;

Verb fake(std::string name, std::function<Result<Outcome>(Context&, const Arguments&)> run) {
  return {{.name = std::move(name),
           .summary = "does as the test says",
           .example = "mesh fake",
           .positionals = {},
           .options = {},
           .ends_itself = true},
          std::move(run)};
}

Verb answers(const Outcome& outcome) {
  return fake("fake", [=](Context&, const Arguments&) -> Result<Outcome> { return outcome; });
}

Verb fails(const Error& error) {
  return fake("fake", [=](Context&, const Arguments&) -> Result<Outcome> {
    return std::unexpected(error);
  });
}

TEST(Frame, TextAndDocumentGoToStdoutRemarksToStderr) {
  Outcome outcome;
  outcome.text = "three\n";
  outcome.diagnostics = "note\n";
  outcome.document = Json{{"count", 3}};
  outcome.exit = 1;
  Shell shell("/", {answers(outcome)});
  const auto plain = shell.run({"fake"});
  EXPECT_EQ(plain.exit, 1);
  EXPECT_EQ(plain.out, "three\n");
  EXPECT_EQ(plain.err, "note\n");
  const auto json = shell.run({"fake", "--json"});
  EXPECT_EQ(json.exit, 1);
  EXPECT_EQ(json.out, "{\"count\":3}\n");
  EXPECT_EQ(shell.watched, (std::vector<bool>{true, true}));
}

TEST(Frame, ErrorsHaveADocumentWithEveryKey) {
  Shell shell("/", {fails({Code::Conflict, "it is held", "wait", {}})});
  const auto plain = shell.run({"fake"});
  EXPECT_EQ(plain.exit, 1);
  EXPECT_THAT(plain.out, IsEmpty());
  EXPECT_EQ(plain.err, "error: it is held\n  hint: wait\n");
  const auto json = shell.run({"--json", "fake"});
  EXPECT_EQ(json.out,
            "{\"error\":{\"code\":\"conflict\",\"message\":\"it is held\",\"file\":null,"
            "\"line\":null,\"column\":null,\"hint\":\"wait\"}}\n");
}

TEST(Frame, AnErrorShowsItsPlace) {
  const Place place{std::make_shared<const std::string>("mesh.toml"), 3, 7};
  Shell shell("/", {fails({Code::InvalidArgument, "no", "", place})});
  EXPECT_EQ(shell.run({"fake"}).err, "mesh.toml:3:7: error: no\n");
  const auto error = shell.run({"fake", "--json"}).json()["error"];
  EXPECT_EQ(error["file"], "mesh.toml");
  EXPECT_EQ(error["line"], 3);
  EXPECT_EQ(error["column"], 7);
  EXPECT_TRUE(error["hint"].is_null());
}

TEST(Frame, EachCodeHasItsExitCode) {
  const std::vector<std::pair<Code, int>> table = {
      {Code::InvalidArgument, 65}, {Code::Usage, 64},           {Code::NotFound, 1},
      {Code::Conflict, 1},         {Code::Unavailable, 69},     {Code::Timeout, 1},
      {Code::Resource, 1},         {Code::PermissionDenied, 1}, {Code::Corrupt, 65},
      {Code::Unsupported, 1},      {Code::Interrupted, 130},    {Code::Internal, 1}};
  for (const auto& [code, exit] : table) {
    Shell shell("/", {fails({code, "x", "", {}})});
    EXPECT_EQ(shell.run({"fake"}).exit, exit) << code_name(code);
  }
}

TEST(Frame, InvalidDeclarationsTakeThePlaceOfTheAnswer) {
  Shell shell("/", {fake("fake", [](Context& context, const Arguments&) -> Result<Outcome> {
                Outcome invalid;
                invalid.document = Json{{"problems", {1}}};
                invalid.diagnostics = "mesh.toml:1:1: error: no\n";
                invalid.exit = 65;
                context.invalid = invalid;
                return fail(Code::InvalidArgument, "invalid");
              })});
  const auto plain = shell.run({"fake"});
  EXPECT_EQ(plain.exit, 65);
  EXPECT_THAT(plain.out, IsEmpty());
  EXPECT_EQ(plain.err, "mesh.toml:1:1: error: no\n");
  EXPECT_EQ(shell.run({"fake", "--json"}).out, "{\"problems\":[1]}\n");
}

TEST(Frame, UsageErrorsHaveADocumentToo) {
  Shell shell("/", {answers({})});
  const auto typo = shell.run({"fak", "--json"});
  EXPECT_EQ(typo.exit, 64);
  EXPECT_EQ(typo.json()["error"]["code"], "usage");
  EXPECT_THAT(typo.err, StartsWith("error: there is no verb 'fak'"));
  EXPECT_EQ(shell.run({}).exit, 64);
  EXPECT_THAT(shell.run({}).err, HasSubstr("usage: mesh"));
  EXPECT_EQ(shell.run({"-C", "/nowhere/at/all", "fake"}).exit, 64);
}

TEST(Frame, JsonBehindTheDashesIsNotOurs) {
  Shell shell("/", {answers({})});
  EXPECT_THAT(shell.run({"fak", "--", "--json"}).out, IsEmpty());
}

TEST(Frame, LaterVerbsSayThatTheyAreNotHere) {
  Shell shell("/", {answers({})});
  for (const auto& [name, summary] : later_verbs()) {
    const auto ran = shell.run({name, "x", "--json", "--whatever"});
    EXPECT_EQ(ran.exit, 1) << name;
    EXPECT_EQ(ran.json()["error"]["code"], "unsupported") << name;
    EXPECT_THAT(ran.err, HasSubstr("not in this version")) << name;
    const auto help = shell.run({name, "x", "--whatever", "--help"});
    EXPECT_EQ(help.exit, 0) << name;
    EXPECT_THAT(help.out, AllOf(HasSubstr(summary), HasSubstr("not in this version"))) << name;
  }
}

TEST(Frame, AnOptionsValueIsNoVerb) {
  Shell shell("/", {answers({})});
  EXPECT_EQ(shell.run({"--state", "lint", "fake"}).exit, 0);
  EXPECT_EQ(shell.run({"--timeout", "5s", "lint"}).exit, 1);
}

TEST(Frame, WhatIsThrownIsAnError) {
  Shell shell("/", {fake("fake", [](Context&, const Arguments&) -> Result<Outcome> {
                throw std::bad_alloc();
              })});
  const auto ran = shell.run({"fake", "--json"});
  EXPECT_EQ(ran.exit, 1);
  EXPECT_EQ(ran.json()["error"]["code"], "internal");
}

TEST(Frame, StdoutThatCannotBeWrittenIsAFailure) {
  Outcome outcome;
  outcome.text = "x";
  Shell shell("/", {answers(outcome)});
  for (const auto code : {Code::Resource, Code::Unavailable}) {
    shell.broken = code;
    const auto lost = shell.run({"fake"});
    EXPECT_EQ(lost.exit, 1);
    EXPECT_EQ(lost.err.empty(), code == Code::Unavailable) << lost.err;
  }
}

TEST(Frame, AReaderThatIsGoneIsNoFailureOfWhatWasDone) {
  Outcome outcome;
  outcome.acted = true;
  outcome.text = "x";
  for (const int exit : {0, 65}) {
    outcome.exit = exit;
    Shell shell("/", {answers(outcome)});
    shell.broken = Code::Unavailable;
    const auto gone = shell.run({"fake"});
    EXPECT_EQ(gone.exit, exit);
    EXPECT_THAT(gone.err, IsEmpty());
  }
}

TEST(Frame, ColourOnlyOnATerminalAndWithoutNoColor) {
  Shell shell("/", {fails({Code::Internal, "x", "", {}})});
  EXPECT_THAT(shell.run({"fake"}).err, Not(HasSubstr("\x1b")));
  shell.terminal = true;
  EXPECT_THAT(shell.run({"fake"}).err, HasSubstr("\x1b"));
  shell.variables["NO_COLOR"] = "1";
  EXPECT_THAT(shell.run({"fake"}).err, Not(HasSubstr("\x1b")));
}

TEST(Frame, ACommandTakesThePlaceOfTheProgram) {
  Outcome outcome;
  outcome.exec = Exec{{"true"}, {{"A", "1"}}, {}};
  Shell shell("/", {answers(outcome)});
  EXPECT_EQ(shell.run({"fake"}).exit, 7);
  ASSERT_EQ(shell.executed.size(), 1U);
  EXPECT_EQ(shell.executed[0].command, std::vector<std::string>{"true"});
}

TEST(Frame, HelpAndVersion) {
  Shell shell("/", {answers({})});
  EXPECT_EQ(shell.run({"fake", "--help"}).exit, 0);
  EXPECT_THAT(shell.run({"fake", "--help"}).out, HasSubstr("example:\n  mesh fake\n"));
  EXPECT_THAT(shell.run({"--help"}).out, HasSubstr("fake"));
  EXPECT_THAT(shell.run({"--version"}).out, StartsWith("mesh 0."));
  EXPECT_EQ(shell.run({"--version", "--json"}).json()["version"], kVersion);
  EXPECT_TRUE(shell.run({"--help", "--json"}).json()["help"].is_string());
}

TEST(Frame, EveryVerbExplainsItselfWithAnExample) {
  for (const auto& verb : all_verbs()) {
    const auto help = verb_help(verb.spec);
    EXPECT_THAT(help, HasSubstr("usage: mesh " + verb.spec.name));
    EXPECT_THAT(help, HasSubstr("example:\n  "));
    EXPECT_THAT(verb.spec.example, HasSubstr("mesh " + verb.spec.name)) << verb.spec.name;
    EXPECT_THAT(verb.spec.summary, Not(IsEmpty()));
    EXPECT_THAT(help, HasSubstr("--json"));
    EXPECT_THAT(help, HasSubstr("--timeout"));
  }
}

}  // namespace
}  // namespace mesh::cli
