#include "containerfile/file.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

using namespace mesh::containerfile;

namespace {

/// What a file's instructions are, a line each: `LINE-LAST VERB flags | args | heredocs`.
std::string outline(std::string_view text) {
  const auto file = parse(text);
  std::string out;
  const auto add = [&](const Instruction& one) {
    out += fmt::format("{}-{} {}", one.spot.line, one.last_line, verb_name(one.verb));
    for (const auto& flag : one.flags) {
      out += fmt::format(" --{}{}", flag.name, flag.value ? "=" + *flag.value : "");
    }
    out += one.json ? " json" : "";
    for (const auto& arg : one.args) {
      out += fmt::format(" [{}]", arg.text);
    }
    for (const auto& doc : one.heredocs) {
      out += fmt::format(" <<{}{}{}:{}", doc.chomp ? "-" : "", doc.name, doc.expand ? "" : "!",
                         doc.text());
    }
    out += "\n";
  };
  for (const auto& one : file.globals) {
    add(one);
  }
  for (const auto& stage : file.stages) {
    add(stage.from);
    for (const auto& one : stage.instructions) {
      add(one);
    }
  }
  for (const auto& problem : file.problems) {
    out += fmt::format("{}:{} {} {}\n", problem.spot.line, problem.spot.column,
                       problem.error ? "error" : "warning", problem.code);
  }
  return out;
}

struct OutlineCase {
  const char* text;
  const char* outline;
};

TEST(ContainerfileTest, IsReadAsBuildKitReadsIt) {
  const OutlineCase cases[] = {
      {"FROM a", "1-1 FROM [a]\n"},
      {"from a as b\nrun x", "1-1 FROM [a] [as] [b]\n2-2 RUN [x]\n"},
      {"\xEF\xBB\xBF"
       "FROM a\r\nRUN x\\\r\n y\r\n",
       "1-1 FROM [a]\n2-3 RUN [x y]\n"},
      {"   FROM   a  \n\tRUN  x  ", "1-1 FROM [a]\n2-2 RUN [x]\n"},
      {"FROM a\nRUN echo hello \\\n# comment\nworld", "1-1 FROM [a]\n2-4 RUN [echo hello world]\n"},
      {"FROM a\nRUN echo \"\\\n     hello\\\n     world\"",
       "1-1 FROM [a]\n2-4 RUN [echo \"     hello     world\"]\n"},
      {"FROM a\nRUN x \\  \t\n y", "1-1 FROM [a]\n2-3 RUN [x  y]\n"},
      {"FROM a\nRUN x \\\n\n\n y\n",
       "1-1 FROM [a]\n2-5 RUN [x  y]\n2:1 warning empty-continuation\n"},
      {"FROM a\nRUN x \\\\\nRUN y", "1-1 FROM [a]\n2-2 RUN [x \\\\]\n3-3 RUN [y]\n"},
      {"FROM a\n\\\nRUN x", "1-1 FROM [a]\n3-3 RUN [x]\n"},
      {"FROM a\nRUN x \\", "1-1 FROM [a]\n2-2 RUN [x]\n"},
      {"FROM a\nRUN echo # no comment", "1-1 FROM [a]\n2-2 RUN [echo # no comment]\n"},
      {"# escape=`\nFROM a\nRUN x `\n y\nCOPY c:\\ d:\\\n",
       "2-2 FROM [a]\n3-4 RUN [x  y]\n5-5 COPY [c:\\] [d:\\]\n"},
      {"#\tEsCaPe = `\nFROM `\na", "2-3 FROM [a]\n"},
      {"# syntax=docker/dockerfile:1\n# escape=`\nFROM a\nRUN `\nx", "3-3 FROM [a]\n4-5 RUN [x]\n"},
      {"# about\n# escape=`\nFROM a\nRUN x`\n", "3-3 FROM [a]\n4-4 RUN [x`]\n"},
      {"\n# escape=`\nFROM a\nRUN x`\n", "3-3 FROM [a]\n4-4 RUN [x`]\n"},
      {"# other=1\n# escape=`\nFROM a\nRUN x`\n", "3-3 FROM [a]\n4-4 RUN [x`]\n"},
      {"# escape=`\n# escape=\\\nFROM a", "3-3 FROM [a]\n2:1 error directive-twice\n"},
      {"# escape=x\nFROM a", "2-2 FROM [a]\n1:1 error bad-escape\n"},
      {"ARG A=1 B\nFROM a", "1-1 ARG [A=1] [B]\n2-2 FROM [a]\n"},
      {"FROM --platform=$BUILDPLATFORM a AS b-1.x",
       "1-1 FROM --platform=$BUILDPLATFORM [a] [AS] [b-1.x]\n"},
      {"FROM a\nRUN [\"x\", \"y z\"]", "1-1 FROM [a]\n2-2 RUN json [x] [y z]\n"},
      {"FROM a\nRUN [ 'x' ]", "1-1 FROM [a]\n2-2 RUN [[ 'x' ]]\n"},
      {"FROM a\nRUN [\"x\", 1]",
       "1-1 FROM [a]\n2-2 RUN\n2:1 error too-few-arguments\n2:5 error bad-list\n"},
      {"FROM a\nCOPY [\"a b\", \"c\"]", "1-1 FROM [a]\n2-2 COPY json [a b] [c]\n"},
      {"FROM a\nCOPY --chown=1:2 --link --chmod=755 x y /z/",
       "1-1 FROM [a]\n2-2 COPY --chown=1:2 --link --chmod=755 [x] [y] [/z/]\n"},
      {"FROM a\nCOPY --from=\"b\" -- --x /z", "1-1 FROM [a]\n2-2 COPY --from=b [--x] [/z]\n"},
      {"FROM a\nENV A b c", "1-1 FROM [a]\n2-2 ENV [A] [b c]\n"},
      {"FROM a\nENV A=\"b c\" D=e\\ f", "1-1 FROM [a]\n2-2 ENV [A=\"b c\"] [D=e\\ f]\n"},
      {"FROM a\nENV A=1 b", "1-1 FROM [a]\n2-2 ENV [A=1] [b]\n2:9 error not-a-pair\n"},
      {"FROM a\nENV A", "1-1 FROM [a]\n2-2 ENV [A]\n2:5 error no-value\n"},
      {"FROM a\nENV =1", "1-1 FROM [a]\n2-2 ENV [=1]\n2:5 error blank-name\n"},
      {"FROM a\nHEALTHCHECK --interval=1s CMD x y",
       "1-1 FROM [a]\n2-2 HEALTHCHECK --interval=1s [CMD] [x y]\n"},
      {"FROM a\nHEALTHCHECK NONE", "1-1 FROM [a]\n2-2 HEALTHCHECK [NONE]\n"},
      {"FROM a\nHEALTHCHECK x", "1-1 FROM [a]\n2-2 HEALTHCHECK [x]\n2:13 error bad-healthcheck\n"},
      {"FROM a\nONBUILD RUN x", "1-1 FROM [a]\n2-2 ONBUILD [RUN x]\n"},
      {"FROM a\nONBUILD FROM x", "1-1 FROM [a]\n2-2 ONBUILD [FROM x]\n2:9 error bad-trigger\n"},
      // here-documents
      {"FROM a\nRUN <<EOF\necho x\nFROM y\nEOF\nRUN z",
       "1-1 FROM [a]\n2-5 RUN [<<EOF] <<EOF:echo x\nFROM y\n\n6-6 RUN [z]\n"},
      {"FROM a\nRUN <<-EOF\n\techo\n\tEOF\n", "1-1 FROM [a]\n2-4 RUN [<<-EOF] <<-EOF:echo\n\n"},
      {"FROM a\nCOPY <<'a b' <<\"C\" /x/\n1\na b\n2\nC\n",
       "1-1 FROM [a]\n2-6 COPY [<<'a] [b'] [<<\"C\"] [/x/] <<a b!:1\n <<C!:2\n\n"},
      {"FROM a\nRUN cat <<A - 3<<B\n1\nA\n2\nB",
       "1-1 FROM [a]\n2-6 RUN [cat <<A - 3<<B] <<A:1\n <<B:2\n\n"},
      {"FROM a\nRUN echo \"<<EOF\"", "1-1 FROM [a]\n2-2 RUN [echo \"<<EOF\"]\n"},
      {"FROM a\nRUN echo $((1<<3))", "1-1 FROM [a]\n2-2 RUN [echo $((1<<3))]\n"},
      {"FROM a\nRUN [\"x\", \"<<EOF\"]", "1-1 FROM [a]\n2-2 RUN json [x] [<<EOF]\n"},
      {"FROM a\nRUN cat <<<EOF", "1-1 FROM [a]\n2-2 RUN [cat <<<EOF]\n"},
      {"FROM a\nRUN cat << EOF\nx\nEOF", "1-1 FROM [a]\n2-4 RUN [cat << EOF] <<EOF:x\n\n"},
      {"FROM a\nENV A=<<EOF", "1-1 FROM [a]\n2-2 ENV [A=<<EOF]\n"},
      {"FROM a\nRUN <<EOF\nx", "1-1 FROM [a]\n2-3 RUN [<<EOF] <<EOF:x\n2:1 error open-heredoc\n"},
      {"FROM a\nRUN <<EOF\n# kept\n\\\nEOF", "1-1 FROM [a]\n2-5 RUN [<<EOF] <<EOF:# kept\n\\\n\n"},
      {"FROM a\nCOPY a <<EOF\nx\nEOF",
       "1-1 FROM [a]\n2-4 COPY [a] [<<EOF] <<EOF:x\n\n2:8 error bad-destination\n"},
      // problems
      {"", "1:1 error no-stage\n"},
      {"RUN x", "1:1 error before-from\n1:1 error no-stage\n"},
      {"FROM", "1-1 FROM\n1:1 error too-few-arguments\n"},
      {"FROM a b", "1-1 FROM [a] [b]\n1:1 error bad-from\n"},
      {"FROM a of b", "1-1 FROM [a] [of] [b]\n1:1 error bad-from\n"},
      {"FROM a AS 1b", "1-1 FROM [a] [AS] [1b]\n1:11 error bad-stage-name\n"},
      {"FROM a AS b\nFROM c AS B",
       "1-1 FROM [a] [AS] [b]\n2-2 FROM [c] [AS] [B]\n2:11 warning stage-twice\n"},
      {"FROM a AS scratch", "1-1 FROM [a] [AS] [scratch]\n1:11 warning reserved-stage-name\n"},
      {"FROM a\nRUNN x\nCOPPY y z\n  oops",
       "1-1 FROM [a]\n2:1 error unknown-instruction\n3:1 error unknown-instruction\n4:3 error "
       "unknown-instruction\n"},
      {"FROM a\nCOPY x", "1-1 FROM [a]\n2-2 COPY [x]\n2:1 error too-few-arguments\n"},
      {"FROM a\nCOPY --form=b x y",
       "1-1 FROM [a]\n2-2 COPY --form=b [x] [y]\n2:6 error unknown-flag\n"},
      {"FROM a\nCOPY --from x y",
       "1-1 FROM [a]\n2-2 COPY --from [x] [y]\n2:6 error flag-without-value\n"},
      {"FROM a\nCOPY --chown=1 --chown=2 x y",
       "1-1 FROM [a]\n2-2 COPY --chown=1 --chown=2 [x] [y]\n2:16 error flag-twice\n"},
      {"FROM a\nCOPY --link=maybe x y",
       "1-1 FROM [a]\n2-2 COPY --link=maybe [x] [y]\n2:6 error bad-flag\n"},
      {"FROM a\nSHELL /bin/sh", "1-1 FROM [a]\n2-2 SHELL [/bin/sh]\n2:1 error bad-shell\n"},
      {"FROM a\nRUN x \\\n  --mount=y \\\n  z\nBAD",
       "1-1 FROM [a]\n2-4 RUN [x   --mount=y   z]\n5:1 error unknown-instruction\n"},
      {"FROM a\nRUN \\\n  --mount=type=bnd,target=/x \\\n  z",
       "1-1 FROM [a]\n2-4 RUN --mount=type=bnd,target=/x [z]\n3:3 error unknown-mount-type\n"},
      {"FROM a\nRUN --mount=type=bind,target=/x,frm=y z",
       "1-1 FROM [a]\n2-2 RUN --mount=type=bind,target=/x,frm=y [z]\n2:5 error "
       "unknown-mount-key\n"},
      {"FROM a\nRUN --mount=from=$X,target=/x z",
       "1-1 FROM [a]\n2-2 RUN --mount=from=$X,target=/x [z]\n2:5 error variable-in-from\n"},
      {"FROM a\nRUN --mount=type=secret z",
       "1-1 FROM [a]\n2-2 RUN --mount=type=secret [z]\n2:5 error bad-mount\n"},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(outline(one.text), one.outline) << one.text;
  }
}

TEST(ContainerfileTest, EveryProblemIsReportedWithAPlaceAndAMessage) {
  const auto file =
      parse("FRM a\nFROM a AS 9\nCOPY --from=x y\nRUN --mount=type=foo x\nENV A=1 B\n");
  EXPECT_EQ(file.problems.size(), 5U);
  for (const auto& problem : file.problems) {
    EXPECT_FALSE(problem.message.empty());
    EXPECT_GT(problem.spot.line, 0);
    EXPECT_GT(problem.spot.column, 0);
    EXPECT_NE(problem.message.back(), '.');
  }
}

TEST(ContainerfileTest, AMountIsReadByItsKeys) {
  const auto file = parse(
      "FROM a\nRUN --mount=type=bind,from=b,source=/s,dst=/t,rw --mount=type=secret,id=k,required "
      "--mount=\"type=cache,target=/c,id=a\" x\n");
  ASSERT_TRUE(file.problems.empty());
  const auto& mounts = file.stages[0].instructions[0].mounts;
  ASSERT_EQ(mounts.size(), 3U);
  EXPECT_EQ(mounts[0].from + mounts[0].source + mounts[0].target, "b/s/t");
  EXPECT_TRUE(mounts[0].writable);
  EXPECT_TRUE(mounts[1].required);
  EXPECT_EQ(mounts[2].id, "a");
}

}  // namespace
