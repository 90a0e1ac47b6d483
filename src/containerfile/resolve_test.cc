#include "containerfile/resolve.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

using namespace mesh::containerfile;

namespace {

std::string images_of(std::string_view text, const Settings& settings = {}) {
  const auto file = parse(text);
  std::string out;
  for (const auto& problem : file.problems) {
    out += fmt::format("{}:{} {}\n", problem.spot.line, problem.spot.column, problem.code);
  }
  const auto resolved = resolve(file, settings);
  for (const auto& use : resolved.images) {
    out += fmt::format("{}:{} {}{}\n", use.spot.line, use.spot.column, use.text,
                       use.platform == "linux/amd64" ? "" : " " + use.platform);
  }
  for (const auto& problem : resolved.problems) {
    out += fmt::format("{}:{} {} {}\n", problem.spot.line, problem.spot.column,
                       problem.error ? "error" : "warning", problem.code);
  }
  return out;
}

TEST(ResolveTest, ATargetIsANameOrANumber) {
  const auto file = parse("FROM a AS b\nFROM c\nFROM d AS 7up");
  EXPECT_EQ(resolve(file, {.target = "B"}).target, 0);
  EXPECT_EQ(resolve(file, {.target = "1"}).target, 1);
  EXPECT_EQ(resolve(file, {.target = "3"}).problems.front().code, "unknown-target");
}

TEST(ResolveTest, ArgumentsAreThoseThatTheTargetDeclares) {
  const auto file = parse("ARG G\nFROM a AS x\nARG X=1\nFROM b\nARG Y Z");
  const Settings settings{
      .args = {{"G", "1"}, {"X", "2"}, {"Y", "3"}, {"N", "4"}, {"HTTP_PROXY", "5"}}};
  EXPECT_EQ(used_args(file, resolve(file, settings)),
            (std::map<std::string, std::string>{{"G", "1"}, {"Y", "3"}, {"HTTP_PROXY", "5"}}));
}

struct ImagesCase {
  const char* text;
  const char* images;
};

TEST(ResolveTest, FindsTheImagesThatTheTargetNeeds) {
  const ImagesCase cases[] = {
      {"FROM a", "1:6 a\n"},
      {"FROM scratch", ""},
      {"FROM a AS b\nFROM b", "1:6 a\n"},
      {"FROM a AS b\nFROM c", "2:6 c\n"},
      {"FROM a AS B\nFROM c\nCOPY --from=b x y", "1:6 a\n2:6 c\n"},
      {"FROM a AS B\nFROM c\nCOPY --from=0 x y", "1:6 a\n2:6 c\n"},
      {"FROM a\nFROM c\nCOPY --from=d:1@sha256:0 x y", "2:6 c\n3:6 d:1@sha256:0\n"},
      {"FROM a\nRUN --mount=type=bind,from=e,target=/x y", "1:6 a\n2:5 e\n"},
      {"FROM a AS m\nFROM a2\nRUN --mount=from=M,target=/x y", "1:6 a\n2:6 a2\n"},
      {"FROM a\nRUN --mount=type=cache,from=scratch,target=/x y", "1:6 a\n"},
      {"ARG V=1\nFROM a:$V", "2:6 a:1\n"},
      {"ARG V\nFROM a:${V:-2}", "2:6 a:2\n"},
      {"ARG V=1 W=${V}.2\nFROM a:$W", "2:6 a:1.2\n"},
      {"ARG V=1-slim\nFROM a:${V%-*}", "2:6 a:1\n"},
      {"ARG V=b\nFROM a AS b\nFROM $V", "2:6 a\n"},
      {"FROM a\nARG V=1\nFROM b:$V", "3:6 b:\n3:6 warning unset-variable\n3:6 error bad-image\n"},
      {"FROM $V", "1:6 warning unset-variable\n1:6 error empty-image\n"},
      {"FROM --platform=$BUILDPLATFORM a\nFROM --platform=linux/arm64 b\nCOPY --from=0 x y",
       "1:32 a\n2:29 b linux/arm64\n"},
      {"FROM --platform=linux/arm64/v8 a", "1:32 a linux/arm64\n"},
      {"FROM --platform=what/is/this/then a", "1:35 a\n1:6 error bad-platform\n"},
      {"FROM base-$TARGETARCH", "1:6 base-amd64\n"},
      {"FROM a AS b\nFROM c AS b\nFROM b", "2:6 c\n1:1"},
      // refused
      {"FROM a\nCOPY --from=b x y\nFROM c AS b", "3:6 c\n2:6 error later-stage\n"},
      {"FROM a AS s\nCOPY --from=s x y", "1:6 a\n2:6 error later-stage\n"},
      {"FROM a\nCOPY --from=0 x y", "1:6 a\n2:6 error later-stage\n"},
      {"FROM a\nCOPY --from=5 x y", "1:6 a\n2:6 error no-such-stage\n"},
      {"FROM a\nCOPY --from=$X x y", "1:6 a\n2:6 $X\n2:6 error variable-in-from\n"},
      {"FROM a AS s\nFROM b\nRUN --mount=from=0,target=/x y",
       "2:6 b\n3:5 0\n3:5 error mount-number\n"},
      {"FROM b\nFROM a AS b", "2:6 a\n1:6 warning later-stage\n"},
      {"FROM a AS One\nFROM One", "2:6 One\n2:6 error stage-case\n"},
      {"FROM ${A:?no}", "1:6 error bad-variable\n"},
  };
  for (const auto& one : cases) {
    if (std::string_view(one.images).ends_with("1:1")) {
      EXPECT_EQ(images_of(one.text), "2:11 stage-twice\n2:6 c\n");
    } else {
      EXPECT_EQ(images_of(one.text), one.images) << one.text;
    }
  }
}

TEST(ResolveTest, TakesTargetArgumentsAndPlatforms) {
  constexpr const char* kFile =
      "ARG TAG=1\nFROM a:$TAG AS one\nFROM --platform=$BUILDPLATFORM b AS two\nCOPY --from=x / "
      "/\nFROM c\n";
  EXPECT_EQ(images_of(kFile, {.target = "ONE", .args = {{"TAG", "9"}}}), "2:6 a:9\n");
  EXPECT_EQ(images_of(kFile, {.target = "two", .platform = "linux/arm64"}),
            "3:32 b\n4:6 x linux/arm64\n");
  EXPECT_EQ(images_of(kFile, {.target = "tow"}), "1:1 error unknown-target\n");
  EXPECT_EQ(images_of(kFile, {.args = {{"TGA", "9"}}}), "5:6 c\n1:1 warning unused-argument\n");
  EXPECT_EQ(images_of(kFile, {.args = {{"HTTP_PROXY", "9"}, {"BUILDKIT_INLINE_CACHE", "1"}}}),
            "5:6 c\n");
  EXPECT_EQ(images_of("FROM a-$TARGETVARIANT-$TARGETSTAGE", {.platform = "linux/arm/v7"}),
            "1:6 a-v7-default linux/arm/v7\n");
}

TEST(ResolveTest, PlatformsHaveOneSpelling) {
  EXPECT_EQ(normal_platform("linux/aarch64"), "linux/arm64");
  EXPECT_EQ(normal_platform("linux/arm64/v8"), "linux/arm64");
  EXPECT_EQ(normal_platform("Linux/X86_64"), "linux/amd64");
  EXPECT_EQ(normal_platform("arm64"), "linux/arm64");
  EXPECT_EQ(normal_platform("linux/arm"), "linux/arm/v7");
  EXPECT_EQ(normal_platform("linux/arm/v6"), "linux/arm/v6");
  EXPECT_EQ(normal_platform("windows/amd64"), "windows/amd64");
  EXPECT_EQ(normal_platform(""), std::nullopt);
  EXPECT_EQ(normal_platform("linux//v7"), std::nullopt);
  EXPECT_EQ(normal_platform("a/b/c/d"), std::nullopt);
}

}  // namespace
