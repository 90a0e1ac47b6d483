#include "containerfile/ignore.h"

#include <gtest/gtest.h>

#include "base/text.h"

using namespace mesh::containerfile;

namespace {

struct IgnoreCase {
  const char* rules;
  const char* path;
  bool ignored;
};

IgnoreRules ignore_rules(std::string_view text) {
  std::vector<Problem> problems;
  auto rules = read_ignore_rules(text, problems);
  EXPECT_TRUE(problems.empty()) << text;
  return rules;
}

/// The same question, asked as a walk does.
bool walked(const IgnoreRules& rules, std::string_view path) {
  IgnoreRules::Matched parent;
  bool ignored = false;
  for (auto slash = path.find('/');; slash = path.find('/', slash + 1)) {
    IgnoreRules::Matched own;
    ignored = rules.ignores(path.substr(0, slash), parent, own);
    parent = own;
    if (slash == std::string_view::npos) {
      return ignored;
    }
    if (ignored && !rules.may_take_back_inside(path.substr(0, slash))) {
      return true;
    }
  }
}

TEST(IgnoreRulesTest, AreReadAsDocumented) {
  const IgnoreCase cases[] = {
      {"**", "file", true},
      {"**", "dir/file", true},
      {"**/", "file", true},
      {"**/**", "dir/file", true},
      {"dir/**", "dir/file", true},
      {"dir/**", "dir", false},
      {"dir/**", "dir/two/file", true},
      {"**/dir", "dir", true},
      {"**/dir", "dir/file", true},
      {"**/dir", "a/b/dir/file", true},
      {"**/dir", "xdir", false},
      {"**dir", "xdir", true},
      {"**/dir2/*", "dir/dir2/file", true},
      {"**/dir2/**", "dir/dir2/dir3/file", true},
      {"**/file*", "dir/dir/file.txt", true},
      {"**/file*txt", "dir/dir/file.txt", true},
      {"**/**/*.txt", "file.txt", true},
      {"**/**/*.txt2", "dir/dir/file.txt", false},
      {"a**/*.txt", "a/dir/dir/file.txt", true},
      {"a/*.txt", "a/dir/file.txt", false},
      {"a/*.txt", "a/file.txt", true},
      {"a/*.txt**", "a/file.txt", true},
      {"a[b-d]e", "ace", true},
      {"a[b-d]e", "aae", false},
      {"a[^b-d]e", "aze", true},
      {"a[^b-d]e", "ace", false},
      {".*", ".foo", true},
      {".*", "foo", false},
      {"abc.def", "abcZdef", false},
      {"abc?def", "abcZdef", true},
      {"abc?def", "abcdef", false},
      {"a?b", "a/b", false},
      {"*", "a/b/c", true},
      {"a\\*b", "a*b", true},
      {"a\\*b", "axb", false},
      {"a(b)c/def", "a(b)c/def", true},
      {"a.|)$(}+{bc", "a.|)$(}+{bc", true},
      {"/foo", "foo", true},
      {"foo/", "foo", true},
      {"foo/", "foo/bar", true},
      {"./foo", "foo", true},
      {"a/../foo", "foo", true},
      {"a//b", "a/b", true},
      {"  foo  ", "foo", true},
      {"foo\r", "foo", true},
      {"#foo", "#foo", false},
      {" #foo", "#foo", true},
      {"\\#foo", "#foo", true},
      {"\xEF\xBB\xBF"
       "foo",
       "foo", true},
      {"foo", "bar/foo", false},
      {"docs\n!docs/README.md", "docs/README.md", false},
      {"docs\n!docs/README.md", "docs/other", true},
      {"docs/\n!docs/README.md", "docs/README.md", false},
      {"docs/*\n! docs/README.md", "docs/README.md", false},
      {"*.go\n!a.go", "a.go", false},
      {"!a.go\n*.go", "a.go", true},
      {"*.md\n!README*.md\nREADME-secret.md", "README-secret.md", true},
      {"*.md\n!README*.md\nREADME-secret.md", "README.md", false},
      {"**\n!util/docker/web", "util/docker/web/foo", false},
      {"**\n!util/docker/web\nutil/docker/web/foo", "util/docker/web/foo", true},
      {"**\n!dist/*.whl", "dist/a-2.4+g0.whl", false},
      {"*\n!src", "src/a/b", false},
      {"*\n!src/**/*.c", "src/x/y/a.c", false},
      {"*\n!src/**/*.c", "src/x/y/a.h", true},
      {"node_modules\n!node_modules/keep\n", "node_modules/keep/x", false},
      {"*/temp*", "somedir/temporary.txt", true},
      {"*/*/temp*", "somedir/subdir/temporary.txt", true},
      {"temp?", "tempa", true},
  };
  for (const auto& one : cases) {
    const auto rules = ignore_rules(one.rules);
    EXPECT_EQ(rules.ignores(one.path), one.ignored) << one.rules << " | " << one.path;
    EXPECT_EQ(walked(rules, one.path), one.ignored) << "walk: " << one.rules << " | " << one.path;
  }
}

TEST(IgnoreRulesTest, ThatCannotBeReadAreNamedByTheirLine) {
  std::vector<Problem> problems;
  const auto rules = read_ignore_rules("ok\n!\n[\na[]b\n\\\nx[z-a]\n", problems);
  ASSERT_EQ(problems.size(), 5U);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(problems[static_cast<std::size_t>(i)].spot.line, i + 2);
  }
  EXPECT_TRUE(rules.ignores("ok"));
}

TEST(IgnoreRulesTest, AFolderIsEnteredOnlyWhereSomethingMayBeTakenBack) {
  const auto rules = ignore_rules("*\n!src/lib\n!**/keep\n");
  EXPECT_TRUE(rules.may_take_back_inside("src"));
  EXPECT_TRUE(rules.may_take_back_inside("other"));
  const auto plain = ignore_rules("*\n!src/lib\n!docs/*.md\n");
  EXPECT_TRUE(plain.may_take_back_inside("src"));
  EXPECT_TRUE(plain.may_take_back_inside("docs"));
  EXPECT_FALSE(plain.may_take_back_inside("node_modules"));
}

TEST(IgnoreRulesTest, StandBesideTheContainerfileFirst) {
  const auto files = ignore_files("build/Web.Containerfile");
  ASSERT_EQ(files.size(), 4U);
  EXPECT_EQ(files[0].name, "build/Web.Containerfile.containerignore");
  EXPECT_EQ(files[1].name, "build/Web.Containerfile.dockerignore");
  EXPECT_EQ(files[2].name, ".containerignore");
  EXPECT_TRUE(files[3].in_context);
}

}  // namespace
