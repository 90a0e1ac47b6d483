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
            "mesh.toml:2:1: error: this line is not UTF-8 text (save the file as UTF-8) "
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
