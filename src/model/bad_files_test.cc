#include <gtest/gtest.h>

#include "model/bytes.h"
#include "model/read.h"
#include "model/report.h"
#include "tests/support/map_files.h"

// Files that are no text, too large, too deep, or cannot be read at all.
namespace mesh::model {
namespace {

using namespace std::string_literals;
using test::MapFiles;

std::string problems_of(const Reading& reading) {
  std::string out;
  for (const auto& problem : reading.problems) {
    out += to_text(problem) + " [" + problem.code + "]\n";
  }
  return out;
}

std::string problems_of(const std::string& mesh_toml) {
  MapFiles files;
  files.set("mesh.toml", mesh_toml);
  return problems_of(read_mesh(files));
}

std::string problems_of(Error error) {
  MapFiles files;
  files.fail("mesh.toml", std::move(error));
  return problems_of(read_mesh(files));
}

TEST(BadFiles, ByteOrderMarkAndCarriageReturnsAreFine) {
  EXPECT_EQ(problems_of("\xEF\xBB\xBFmesh = \"home\"\r\n[nodes.one]\r\n"s), "");
  EXPECT_EQ(problems_of("\xEF\xBB\xBFmesh = 1\r\n"s),
            "mesh.toml:1:8: error: mesh must be the mesh's name, such as \"home\" [wrong-type]\n");
}

TEST(BadFiles, NulBytes) {
  EXPECT_EQ(
      problems_of("mesh = \"home\"\n# \0\n"s),
      "mesh.toml:2:3: error: the file has a NUL byte here (it is not a text file, or damaged) "
      "[nul-byte]\n");
  EXPECT_EQ(problems_of("mesh = \"a\\u0000b\"\n"s),
            "mesh.toml:1:8: error: text with a NUL cannot be used [nul-in-text]\n");
}

TEST(BadFiles, NotUtf8) {
  EXPECT_EQ(problems_of("mesh = \"home\"\n# gr\xFC\xDF"s + "e\n"),
            "mesh.toml:2:5: error: from here it is no UTF-8 text (save the file as UTF-8) "
            "[not-utf8]\n");
  EXPECT_EQ(problems_of("mesh = \"h\xC3\xB6\xFF\"\n"s),
            "mesh.toml:1:11: error: from here it is no UTF-8 text (save the file as UTF-8) "
            "[not-utf8]\n");
  EXPECT_EQ(problems_of("\xFF\xFEm\x01"s),
            "mesh.toml:1:1: error: the file is UTF-16, TOML is UTF-8 (save the file as UTF-8) "
            "[not-utf8]\n");
}

TEST(BadFiles, TooLarge) {
  EXPECT_EQ(
      problems_of(std::string(kLargestFile + 1, '#')),
      "mesh.toml:1:1: error: the file has 4194305 bytes, at most 4194304 are read [too-large]\n");
  EXPECT_EQ(problems_of("mesh = \"home\"\n#" + std::string(kLargestFile - 20, '#')), "");
}

TEST(BadFiles, TooDeep) {
  std::string dotted;
  std::string braces = "x-a = ";
  std::string brackets = "x-a = ";
  for (int i = 0; i < 200'000; ++i) {
    dotted += "a.";
    braces += "{ a = ";
    brackets += "[";
  }
  EXPECT_NE(problems_of(dotted + "a = 1\n").find("[too-deep]"), std::string::npos);
  EXPECT_NE(problems_of("[" + dotted + "a]\n").find("[too-deep]"), std::string::npos);
  EXPECT_NE(problems_of("x-a = { " + dotted + "a = 1 }\n").find("[too-deep]"), std::string::npos);
  EXPECT_NE(problems_of(braces).find("error: "), std::string::npos);
  EXPECT_NE(problems_of(brackets).find("error: "), std::string::npos);
}

TEST(BadFiles, TooDeepIsSaidInOurWords) {
  EXPECT_EQ(
      problems_of("mesh = \"home\"\nx-a = " + std::string(300, '[') + "\n"),
      "mesh.toml:2:263: error: lists and tables in braces are nested too deeply here (nothing "
      "that mesh reads is nested more than a few levels; is a bracket not closed?) "
      "[too-deep]\n");
}

TEST(BadFiles, ACarriageReturnAlone) {
  for (const auto* text : {"mesh = \"home\"\n# a\rb\n", "mesh = \"home\"\nx=\"\rb\"\n",
                           "mesh = \"home\"\nx=1\rb=1\n", "mesh = \"home\"\r\nx=1\r"}) {
    EXPECT_EQ(problems_of(text),
              "mesh.toml:2:4: error: the file has a carriage return here that no line feed follows "
              "(save the file with LF or CRLF at the end of each line) [carriage-return]\n")
        << text;
  }
}

// Each text that the library has, by something an operator may write, in words of ours.
TEST(BadFiles, TheLibrarysWordsDoNotLeak) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a = 64MiB",
       "1:7: error: this is not a number (as 10 or 1.5; sizes, durations and addresses "
       "need quotes, as in \"64MiB\")"},
      {"a = 1.", "this is not a number"},
      {"a = 127.0.0.1", "this is not a number"},
      {"a = 0x", "this is not a number"},
      {"a = 0x1.8p1", "this is not a number"},
      {"a = 1e999", "this is not a number"},
      {"a = nan1", "this is not a number"},
      {"a = 0b2", "this is not a number"},
      {"a = 99999999999999999999", "this number is too large"},
      {"a = 1__2", "an _ in a number stands between two digits"},
      {"a = _1", "this is not a value (text needs quotes"},
      {"a = True", "this is not a value (true and false are in lower case"},
      {"a = truefalse", "this is not a value (true and false are in lower case"},
      {"a = 127.0.0.1:4222", "this is not a date or a time (text needs quotes"},
      {"a = 10:30", "this is not a date or a time"},
      {"a = 2024-13-01", "this is not a date or a time"},
      {"a = 1979-05-27T07:32:00+99:00", "this is not a date or a time"},
      {"a = \"\\u12\"", "this escape names no character (as"},
      {"a = \"\\UFFFFFFFF\"", "this escape names no character"},
      {"a = \"\\uD800\"", "this escape names no character"},
      {"a = \"\\xZZ\"", "this escape after \\ is not known to TOML"},
      {"= 1", "a key is expected here (a key with other characters"},
      {"a..b = 1", "a key is expected here"},
      {"[]", "a table's header needs a name (as [nodes.one])"},
      {"a = [,]", "a comma too many"},
      {"a = {,}", "a comma too many"},
      {"a = {b = 1,}", "a table in braces ends on its line and has no last comma (write"},
      {"a = \"x", "the text has no closing quote"},
      {"a = \x01", "a control character stands in a value's place (remove it)"},
      {"# \x01", "this comment has a control character (remove it)"},
      {"a = \"\x01\"", "this text has a control character (remove it, or write it as"},
      {"a\u00A0= 1", "this space is none that TOML knows (put an ordinary space"},
      {"[a]\nb = {c=1}\n[a.b]", "\"a.b\" is defined twice"},
      {"[a]\nb = {c=1}\n[a.b.d]", "this adds to a table in braces, which is complete"},
      {"[a]\nb = {c=1}\nb.d = 2", "this adds to a table that is complete already (keep all"},
  };
  for (const auto& [text, said] : cases) {
    const auto problems = problems_of(text);
    EXPECT_NE(problems.find(said), std::string::npos) << text << "\n" << problems;
    for (const auto* leak : {"TOML_", "U+", "saw", "expected '", "prohibited", "toml.io"}) {
      EXPECT_EQ(problems.find(leak), std::string::npos) << text << "\n" << problems;
    }
  }
}

TEST(BadFiles, DotsInTextAreNotDepth) {
  const std::string dots(100, '.');
  EXPECT_EQ(problems_of("mesh = \"home\"\nx-a = \"" + dots + "\" # " + dots + "\nx-b = '''\n" +
                        dots + "'''\n"),
            "");
}

TEST(BadFiles, Unreadable) {
  EXPECT_EQ(
      problems_of(Error{Code::NotFound, "mesh.toml does not exist", "", {}}),
      "mesh.toml:1:1: error: mesh.toml does not exist (mesh init writes one) [missing-file]\n");
  EXPECT_EQ(problems_of(Error{Code::PermissionDenied, "mesh.toml may not be read", "", {}}),
            "mesh.toml:1:1: error: mesh.toml may not be read [unreadable]\n");
}

TEST(BadFiles, FolderInAFilesPlace) {
  MapFiles files;
  files.set("mesh.toml",
            "mesh = \"home\"\n[nodes.one]\n[modules.a]\npath = \"a\"\non = [\"one\"]\n");
  files.set("a/module.toml/x", "");
  EXPECT_EQ(problems_of(read_mesh(files, "../")),
            "../a/module.toml:1:1: error: a/module.toml is a folder, not a file [unreadable]\n");
}

TEST(BadFiles, ManyProblemsAreCounted) {
  std::string text = "mesh = \"home\"\n";
  for (std::size_t i = 0; i < kMostProblems + 500; ++i) {
    text += "key-" + std::to_string(i) + " = 1\n";
  }
  MapFiles files;
  files.set("mesh.toml", text);
  const auto reading = read_mesh(files);
  ASSERT_EQ(reading.problems.size(), kMostProblems + 1);
  EXPECT_EQ(to_text(reading.problems.back()), "error: and 500 more problems");
  EXPECT_FALSE(reading.mesh);
}

TEST(BadFiles, ALongChainOfComponentsIsFollowed) {
  std::string text;
  static constexpr int kMany = 20'000;
  for (int i = 0; i < kMany; ++i) {
    text += "[components.c" + std::to_string(i) + "]\nrun = [\"x\"]\nafter = [\"c" +
            std::to_string((i + 1) % kMany) + "\"]\n";
  }
  MapFiles files;
  files.set("mesh.toml",
            "mesh = \"home\"\n[nodes.one]\n[modules.a]\npath = \"a\"\non = [\"one\"]\n");
  files.set("a/module.toml", text);
  const auto reading = read_mesh(files);
  ASSERT_EQ(reading.problems.size(), 1U);
  EXPECT_EQ(reading.problems.front().code, "circle");
}

}  // namespace
}  // namespace mesh::model
