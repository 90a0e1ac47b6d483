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
      {"# escape=`\nFROM a\nRUN x `\ny", "# escape=`\nFROM r/a@d AS mesh-stage-0\nRUN x y\n"},
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
      {"FROM a\nHEALTHCHECK --start-interval=1s CMD x", "2:13 builder-cannot\n"},
      {"FROM a AS s\nONBUILD RUN x\nFROM s", "2:1 builder-cannot\n"},
      {"FROM a AS s\nCOPY --parents x y\nFROM b", ""},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(limits(one.text), one.out) << one.text;
  }
  EXPECT_EQ(limits("FROM a\nCOPY --exclude=x --parents y z\nRUN --network=none x", {1, 41}), "");
}

}  // namespace
