#include <algorithm>

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "containerfile/builder.h"

using namespace mesh::containerfile;

namespace {

PinnedImage pinned(const ImageUse& use) {
  return {"r/" + use.text + "@d", std::map<std::string, std::string>{{"PATH", "/bin"}}, {}};
}

PinnedImage unseen(const ImageUse& use) {
  return {"r/" + use.text + "@d", std::nullopt, {}};
}

std::string rewritten(std::string_view text, const Settings& settings = {},
                      const Pins& pins = pinned) {
  const auto file = parse(text);
  EXPECT_FALSE(file.has_errors()) << text;
  const auto resolved = resolve(file, settings);
  EXPECT_FALSE(resolved.has_errors()) << text;
  const auto out = rewrite(file, resolved, pins);
  if (!out) {
    return fmt::format("{}: {}", out.error().place.line, out.error().message);
  }
  std::string shown = out->text;
  for (const auto& [path, content] : out->files) {
    shown += fmt::format("{} = {}\n", path, content);
  }
  EXPECT_EQ(static_cast<std::size_t>(std::count(out->text.begin(), out->text.end(), '\n')),
            out->lines.size());
  return shown;
}

struct RewriteCase {
  const char* text;
  const char* out;
};

TEST(RewriteTest, PutsTheSameBuildInWordsThatTheBuilderKnows) {
  const RewriteCase cases[] = {
      {"FROM a:1", "FROM r/a:1@d AS mesh-stage-0\n"},
      {"# about\nFROM a AS B\n\nRUN x \\\n # no\n y", "FROM r/a@d AS b\nRUN x  y\n"},
      {"# escape=`\nFROM a\nRUN x `\ny", "FROM r/a@d AS mesh-stage-0\nRUN x y\n"},
      {"ARG V=1\nARG W\nFROM a:$V\nARG V",
       "ARG V=\"1\"\nARG W\nFROM r/a:1@d AS mesh-stage-0\nARG V\n"},
      {"FROM a AS no\nFROM b AS yes\nFROM yes\nCOPY --from=1 x y",
       "FROM r/b@d AS yes\nFROM yes AS mesh-stage-2\nCOPY --from=yes x y\n"},
      {"FROM a AS s\nFROM b AS s\nFROM scratch\nCOPY --from=S --link --chown=1:2 x y",
       "FROM r/b@d AS mesh-stage-1\nFROM scratch AS mesh-stage-2\nCOPY --from=mesh-stage-1 "
       "--chown=1:2 x y\n"},
      {"FROM a\nCOPY --from=i [\"x y\", \"z\"]",
       "FROM r/a@d AS mesh-stage-0\nCOPY --from=r/i@d [\"x y\", \"z\"]\n"},
      {"FROM a\nRUN --mount=type=bind,from=i,target=/x --mount=type=tmpfs,size=1m,target=/y z",
       "FROM r/a@d AS mesh-stage-0\nRUN --mount=type=bind,from=r/i@d,target=/x "
       "--mount=type=tmpfs,tmpfs-size=1m,target=/y z\n"},
      {"FROM a\nARG TARGETARCH\nARG TARGETVARIANT X=1",
       "FROM r/a@d AS mesh-stage-0\nARG TARGETARCH=\"amd64\"\nARG TARGETVARIANT=\"\"\nARG X=1\n"},
      // here-documents
      {"FROM a\nRUN <<EOF\necho \"$x\" \\\\\nFROM b\nEOF",
       "FROM r/a@d AS mesh-stage-0\nRUN [\"/bin/sh\",\"-c\",\"echo \\\"$x\\\" \\\\\\\\\\nFROM "
       "b\\n\"]\n"},
      {"FROM a\nRUN --mount=type=cache,target=/c <<-EOF\n\techo\n\tEOF",
       "FROM r/a@d AS mesh-stage-0\nRUN --mount=type=cache,target=/c "
       "[\"/bin/sh\",\"-c\",\"echo\\n\"]\n"},
      {"FROM a\nRUN cat <<A >x <<-B\n1\nA\n\t2\n\tB",
       "FROM r/a@d AS mesh-stage-0\nRUN [\"/bin/sh\",\"-c\",\"cat <<A >x "
       "<<-B\\n1\\nA\\n\\t2\\nB\"]\n"},
      {"FROM a\nSHELL [\"/bin/bash\", \"-ec\"]\nRUN <<EOF\nx\nEOF",
       "FROM r/a@d AS mesh-stage-0\nSHELL [\"/bin/bash\", \"-ec\"]\nRUN "
       "[\"/bin/bash\",\"-ec\",\"x\\n\"]\n"},
      {"FROM a\nRUN <<EOF\n#!/usr/bin/python3\nx\nEOF",
       "FROM r/a@d AS mesh-stage-0\nRUN "
       "--mount=type=bind,from=mesh-files,source=0-0,target=/run/mesh-files "
       "[\"/bin/sh\",\"-c\",\"/run/mesh-files/EOF\"]\n0-0/EOF = #!/usr/bin/python3\nx\n\n"},
      {"FROM a\nENV V=1\nCOPY --chown=5 <<x.conf other <<\"raw\" /etc/\nv=$V p=$PATH "
       "'q'\nx.conf\n$V\nraw",
       "FROM r/a@d AS mesh-stage-0\nENV V=1\nCOPY --chown=5 other /etc/\nCOPY --from=mesh-files "
       "--chown=5 0-1/x.conf "
       "0-1/raw /etc/\n0-1/raw = $V\n\n0-1/x.conf = v=1 p=/bin 'q'\n\n"},
      {"FROM a\nADD <<x /y\n1\nx",
       "FROM r/a@d AS mesh-stage-0\nCOPY --from=mesh-files 0-0/x /y\n0-0/x = 1\n\n"},
      // forms of variables that buildah 1.28 refuses
      {"FROM a\nARG F=x.tar.gz\nENV B=${F%%.*} C=$F",
       "FROM r/a@d AS mesh-stage-0\nARG F=x.tar.gz\nENV B=\"x\" C=\"x.tar.gz\"\n"},
      {"FROM a\nENV F='a $b\"'\nWORKDIR /${F-x}",
       "FROM r/a@d AS mesh-stage-0\nENV F='a $b\"'\nWORKDIR \"/a \\$b\\\"\"\n"},
      {"FROM a\nARG F=x.c G=${F%.c}\nCOPY ${G}.h ${F#y} /z/",
       "FROM r/a@d AS mesh-stage-0\nARG F=x.c\nARG G=\"x\"\nCOPY [\"x.h\",\"x.c\",\"/z/\"]\n"},
      {"FROM a\nLABEL p=${PATH/bin/x}", "FROM r/a@d AS mesh-stage-0\nLABEL p=\"/x\"\n"},
      // words by another escape character: buildah knows the backslash alone
      {"# escape=`\nFROM a\nENV X=a\\b Y=`$HOME Z=plain\nENV O a\\b `\"\nWORKDIR /w\\d",
       "FROM r/a@d AS mesh-stage-0\nENV X=\"a\\\\b\" Y=\"\\$HOME\" Z=\"plain\"\nENV O=\"a\\\\b "
       "\\\"\"\nWORKDIR \"/w\\\\d\"\n"},
      {"# escape=`\nFROM a\nCOPY file.txt /p\\q/\nLABEL a\\b=c\nEXPOSE 80\nARG A=x\\y",
       "FROM r/a@d AS mesh-stage-0\nCOPY [\"file.txt\",\"/p\\\\\\\\q/\"]\nLABEL "
       "\"a\\\\b\"=\"c\"\nEXPOSE 80\nARG A=\"x\\\\y\"\n"},
      {"# escape=`\nFROM a\nRUN dir C:\\\nCMD a `\nb\\\nENV E=`\nv",
       "FROM r/a@d AS mesh-stage-0\nRUN [\"/bin/sh\",\"-c\",\"dir C:\\\\\"]\nCMD "
       "[\"/bin/sh\",\"-c\",\"a b\\\\\"]\nENV E=v\n"},
      {"# escape=`\nFROM a\nCOPY <<x f /d\\e/\n1\nx",
       "FROM r/a@d AS mesh-stage-0\nCOPY [\"f\",\"/d\\\\\\\\e/\"]\nCOPY --from=mesh-files "
       "[\"0-0/x\",\"/d\\\\\\\\e/\"]\n0-0/x = 1\n\n"},
      {"# escape=`\nFROM a\n\nONBUILD RUN a\\b",
       "4: ONBUILD has an escape that buildah reads otherwise"},
      {"# escape=`\nFROM a\nHEALTHCHECK CMD a\\",
       "3: HEALTHCHECK has an escape that buildah reads otherwise"},
      // mounts: variables replaced, no path that leads elsewhere, no field within a field
      {"FROM a\nARG S=x/../../y T=cache\nRUN --mount=source=$S,target=/m z",
       "FROM r/a@d AS mesh-stage-0\nARG S=x/../../y\nARG T=cache\nRUN "
       "--mount=source=/y,target=/m z\n"},
      {"FROM a\nRUN --mount=type=cache,id=go,target=/m z",
       "FROM r/a@d AS mesh-stage-0\nRUN --mount=type=cache,id=go,target=/m z\n"},
      {"FROM a\nARG I=../..\nRUN --mount=TYPE=cache,ID=$I/x,target=/m z",
       "FROM r/a@d AS mesh-stage-0\nARG I=../..\nRUN --mount=type=cache,id=mesh-"
       "9cdf6a50100a862e14286c7a334296daf7da8b45d48e20302424ca729b62a31a,target=/m z\n"},
      {"FROM a\nRUN --mount=type=bind,'\"source=x,source=vf\"',target=/m z",
       "2: `source=x,source=vf` of --mount has a sign that the builder reads otherwise"},
      {"FROM a\nARG X=0700,source=vf\nRUN --mount=type=tmpfs,mode=$X,target=/m z",
       "3: `mode=0700,source=vf` of --mount has a sign that the builder reads otherwise"},
      {"FROM a\nARG T=bind\nRUN --mount=type=$T,source=vf,target=/m z",
       "3: the type of a mount is a variable"},
      {"FROM a\nRUN --mount=type=secret,source=T z",
       "FROM r/a@d AS mesh-stage-0\nRUN --mount=type=secret,id=T z\n"},
      {"FROM a\nRUN echo ${X#y}", "FROM r/a@d AS mesh-stage-0\nRUN echo ${X#y}\n"},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(rewritten(one.text), one.out) << one.text;
  }
}

TEST(RewriteTest, RefusesByLineWhatDependsOnAnUnseenImage) {
  EXPECT_EQ(rewritten("FROM a\nCOPY <<x /y\n$PATH\nx", {}, unseen),
            "2: the value of PATH may come from the base image, and is needed before the build");
  EXPECT_EQ(
      rewritten("FROM a\nENV P=/x\nCOPY <<x /y\n$P\nx", {}, unseen),
      "FROM r/a@d AS mesh-stage-0\nENV P=/x\nCOPY --from=mesh-files 0-1/x /y\n0-1/x = /x\n\n");
  EXPECT_EQ(rewritten("FROM a\n\nENV P=${Q%x}", {}, unseen),
            "3: the value of Q may come from the base image, and is needed before the build");
  EXPECT_EQ(
      rewritten("ARG B=$A\nFROM a", {.args = {{"A", "1\n2"}, {"x", ""}}}, unseen).substr(0, 2),
      "AR");
}

TEST(RewriteTest, ValuesWithLinesAreNoWayIntoTheFile) {
  EXPECT_EQ(rewritten("ARG A\nARG B=$A\nFROM a", {.args = {{"A", "1\nRUN evil"}}}),
            "2: a value that is put in here has several lines");
}

TEST(RewriteTest, PlatformsOfStagesAreKept) {
  EXPECT_EQ(
      rewritten("FROM --platform=$BUILDPLATFORM a AS b\nFROM c\nCOPY --from=b x y",
                {.platform = "linux/arm64"}),
      "FROM --platform=linux/amd64 r/a@d AS b\nFROM r/c@d AS mesh-stage-1\nCOPY --from=b x y\n");
}

TEST(RewriteTest, ThePlatformIsThatOfTheLastFrom) {
  const auto file = parse("FROM --platform=linux/arm64 a AS b\nFROM c AS d\nFROM b");
  const auto resolved = resolve(file, {});
  EXPECT_EQ(resolved.platform(), "linux/arm64");
  EXPECT_EQ(rewritten("FROM --platform=linux/arm64 a AS b\nFROM c AS d\nFROM b\nCOPY --from=d x y"),
            "FROM r/a@d AS b\nFROM --platform=linux/amd64 r/c@d AS d\nFROM b AS "
            "mesh-stage-2\nCOPY --from=d x y\n");
}

TEST(RewriteTest, PathsOfTheContextAreWhatTheyAreSaidToBe) {
  const auto file = parse("FROM a AS s\n\nRUN --mount=source=./v//f,target=/m z");
  const auto resolved = resolve(file, {});
  std::string asked;
  const auto found = [&](const std::string& path) -> mesh::Result<std::string> {
    asked = path;
    return "real/f";
  };
  EXPECT_NE(rewrite(file, resolved, pinned, found)->text.find("source=/real/f,target=/m"),
            std::string::npos);
  EXPECT_EQ(asked, "v/f");
  const auto leaves = [](const std::string&) -> mesh::Result<std::string> {
    return mesh::fail(mesh::Code::InvalidArgument, "it leaves");
  };
  const auto refused = rewrite(file, resolved, pinned, leaves);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "it leaves");
  EXPECT_EQ(refused.error().place.line, 3);
}

TEST(RewriteTest, APartOfAStageIsCopiedBeforeItIsMounted) {
  const auto* text =
      "FROM a AS s\nFROM b\nARG D=/o/../out\nRUN --mount=from=s,source=$D,target=/x "
      "--mount=src=uv,from=i,target=/uv z";
  EXPECT_EQ(rewritten(text),
            "FROM r/a@d AS s\n"
            "FROM scratch AS mesh-mount-1-1-1\nCOPY --from=r/i@d [\"/uv\",\"/m\"]\n"
            "FROM scratch AS mesh-mount-1-1-0\nCOPY --from=s [\"/out\",\"/m\"]\n"
            "FROM r/b@d AS mesh-stage-1\nARG D=/o/../out\n"
            "RUN --mount=from=mesh-mount-1-1-0,source=/m,target=/x "
            "--mount=source=/m,from=mesh-mount-1-1-1,target=/uv z\n");
  const auto file = parse(text);
  const auto resolved = resolve(file, {});
  const auto out = rewrite(file, resolved, pinned);
  EXPECT_EQ(out->lines, (std::vector<int>{1, 4, 4, 4, 4, 2, 3, 4}));
  const auto newer = rewrite(file, resolved, pinned, {}, {1, 39});
  EXPECT_EQ(newer->text.find("mesh-mount"), std::string::npos);
  EXPECT_EQ(rewritten("FROM a AS s\nFROM b\nRUN --mount=from=s,source=/o*,target=/x z"),
            "3: the source /o* of --mount is a pattern for COPY");
}

TEST(MountTextTest, CachesHaveNamesThatAreNoPaths) {
  EXPECT_EQ(cache_name("npm-1.2_x"), "npm-1.2_x");
  for (const char* id : {"", ".", "..", "a/b", "../../../victim", "/root/.cache", "-x", "a b"}) {
    const auto name = cache_name(id);
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos)
        << id;
    EXPECT_EQ(name.substr(0, 5), "mesh-");
    EXPECT_EQ(cache_name(id), name);
  }
  EXPECT_NE(cache_name("a/b"), cache_name("a/c"));
}

std::string limits(std::string_view text, BuilderVersion version = {}) {
  const auto file = parse(text);
  EXPECT_FALSE(file.has_errors()) << text;
  const auto resolved = resolve(file, {});
  std::string out;
  for (const auto& problem : what_builder_cannot_read(file, resolved, version)) {
    out += fmt::format("{}:{} {}\n", problem.spot.line, problem.spot.column, problem.code);
  }
  return out;
}

TEST(LimitsTest, SaysByLineWhatTheBuilderCannotRead) {
  const RewriteCase cases[] = {
      {"# syntax=docker/dockerfile:1.7\nFROM a\nCOPY --link x y\nRUN <<EOF\nx\nEOF", ""},
      {"# syntax=example/frontend\nFROM a", "1:1 syntax-ignored\n"},
      {"FROM a\nCOPY --exclude=*.md x y", "2:6 builder-cannot\n"},
      {"FROM a\nCOPY --parents x y", "2:6 builder-cannot\n"},
      {"FROM a\nCOPY --parents=false x y", ""},
      {"FROM a\nCOPY --chmod=u+x x y", "2:6 builder-cannot\n"},
      {"FROM a\nADD --checksum=sha256:0 https://e/x y", "2:5 builder-cannot\n"},
      {"FROM a\nADD https://e/x y", ""},
      {"FROM a\nADD https://e/x.git y", "2:5 builder-cannot\n"},
      {"FROM a\nCOPY --from=scratch x y", "2:6 copy-from-scratch\n"},
      {"FROM a\nRUN --network=none x", "2:5 builder-cannot\n"},
      {"FROM a\nRUN --security=insecure x", "2:5 builder-cannot\n"},
      {"FROM a\nRUN --mount=type=secret,id=x,env=Y z", "2:5 builder-cannot\n"},
      {"FROM a\nRUN --mount=type=ssh,required z", "2:5 no-ssh-agent\n"},
      {"FROM a\nRUN --mount=target=/x,rw z", ""},
      {"FROM a\nRUN --mount=target=/x,rw z\nCOPY q r", "2:5 builder-cannot\n"},
      {"FROM a\nRUN --mount=target=/x,from=i,rw z", "2:5 builder-cannot\n"},
      {"FROM a\nRUN --mount=target=/x,from=i,source=/. z", ""},
      {"FROM a\nRUN --mount=target=/x,from=i,source=/root2 z", ""},
      {"FROM a\nARG S\nRUN --mount=type=cache,target=/x,from=i,source=$S z",
       "3:5 builder-cannot\n"},
      {"FROM a AS s\nFROM a\nRUN --mount=type=cache,from=s,source=/esc,target=/m z",
       "3:5 builder-cannot\n"},
      {"FROM a\nRUN --mount=type=$T,target=/x z", "2:5 builder-cannot\n"},
      {"FROM a AS s\nRUN --mount=target=/x,rw z\nFROM s\nCOPY q r", "2:5 builder-cannot\n"},
      {"FROM a\nHEALTHCHECK --start-interval=1s CMD x", "2:13 builder-cannot\n"},
      {"FROM a AS s\nONBUILD RUN x\nFROM s", "2:1 builder-cannot\n"},
      {"FROM a AS s\nCOPY --parents x y\nFROM b", ""},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(limits(one.text), one.out) << one.text;
  }
  EXPECT_EQ(limits("FROM a\nRUN --mount=type=cache,target=/x,from=i,source=/y z", {1, 39}), "");
  EXPECT_EQ(limits("FROM a\nCOPY --exclude=x --parents y z\nRUN --network=none x", {1, 41}), "");
}

}  // namespace
