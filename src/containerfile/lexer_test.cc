#include "containerfile/lexer.h"

#include <gtest/gtest.h>

#include <map>

#include "base/text.h"

using namespace mesh::containerfile;

namespace {

std::optional<std::string> some_variables(std::string_view name) {
  static const std::map<std::string, std::string, std::less<>> kValues{
      {"A", "foobarbaz"}, {"E", ""}, {"F", "a/b/c.tar.gz"}, {"S", "x y"}, {"STAR", "a*c"}};
  const auto found = kValues.find(name);
  return found == kValues.end() ? std::nullopt : std::optional(found->second);
}

struct ExpandCase {
  const char* word;
  const char* result;  // nullptr: refused
};

TEST(ExpandTest, ReplacesVariablesAsDocumented) {
  const ExpandCase cases[] = {
      {"", ""},
      {"plain", "plain"},
      {"$A", "foobarbaz"},
      {"${A}x", "foobarbazx"},
      {"$Ax", ""},
      {"a$", "a$"},
      {"$", "$"},
      {"$.x", "$.x"},
      {"\\$A", "$A"},
      {"\\\\$A", "\\foobarbaz"},
      {"'$A'", "$A"},
      {"\"$A\"", "foobarbaz"},
      {"\"\\$A\"", "$A"},
      {"\"a\\\"b\"", "a\"b"},
      {"\"a\\nb\"", "a\\nb"},
      {"a\\ b", "a b"},
      {"'a\\b'", "a\\b"},
      {"$1a", "a"},
      {"${A:-d}", "foobarbaz"},
      {"${N:-d}", "d"},
      {"${E:-d}", "d"},
      {"${E-d}", ""},
      {"${N-d}", "d"},
      {"${A:+d}", "d"},
      {"${E:+d}", ""},
      {"${E+d}", "d"},
      {"${N+d}", ""},
      {"${N:-$A}", "foobarbaz"},
      {"${N:-${E:-deep}}", "deep"},
      {"${N:-\"q r\"}", "q r"},
      {"${A#f*b}", "arbaz"},
      {"${A##f*b}", "az"},
      {"${A%b*}", "foobar"},
      {"${A%%b*}", "foo"},
      {"${A#x}", "foobarbaz"},
      {"${A%?}", "foobarba"},
      {"${F##*/}", "c.tar.gz"},
      {"${F%/*}", "a/b"},
      {"${F%%.*}", "a/b/c"},
      {"${STAR%\\*c}", "a"},
      {"${A/ba/X}", "fooXrbaz"},
      {"${A//ba/X}", "fooXrXz"},
      {"${F//\\//_}", "a_b_c.tar.gz"},
      {"${A/o*a/-}", "f-z"},
      {"${A/nope/-}", "foobarbaz"},
      {"${A//o/}", "fbarbaz"},
      {"${A:?must}", "foobarbaz"},
      {"${N?must}", nullptr},
      {"${E:?must}", nullptr},
      {"${E?must}", ""},
      {"${", nullptr},
      {"${A", nullptr},
      {"${}", nullptr},
      {"${:x}", nullptr},
      {"${{A}", nullptr},
      {"${A!x}", nullptr},
      {"${A:#x}", nullptr},
      {"${A:-x", nullptr},
      {"${A/x}", nullptr},
      {"${A#\\q}", nullptr},
      {"\"open", nullptr},
      {"'open", nullptr},
      {"a\\", "a"},
      {"<<EOF", "<<EOF"},
      {"<x", "<x"},
      {"é$A", "éfoobarbaz"},
  };
  for (const auto& one : cases) {
    const auto result = expand(one.word, some_variables);
    ASSERT_EQ(result.has_value(), one.result != nullptr) << one.word;
    if (result) {
      EXPECT_EQ(result->text, one.result) << one.word;
    } else {
      EXPECT_FALSE(result.error().message.empty());
    }
  }
}

TEST(ExpandTest, CutsWordsAfterReplacing) {
  const auto result = expand("a $S \"$S\" b'c d'e << EOF", some_variables);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(mesh::join(result->words, "|"), "a|x|y|x y|bc de|<< EOF");
}

TEST(ExpandTest, KeepsWhatIsAskedToBeKept) {
  EXPECT_EQ(expand("${N:-x} $N \\$ \"q\"", some_variables,
                   {.raw_quotes = true, .raw_escapes = true, .keep_unset = true})
                ->text,
            "${N:-x} $N \\$ \"q\"");
  EXPECT_EQ(expand("it's $A", some_variables, {.skip_quotes = true})->text, "it's foobarbaz");
  EXPECT_EQ(expand("`$A", some_variables, {.escape = '`'})->text, "$A");
}

TEST(ExpandTest, SaysWhichNamesItMetAndWhichFormsAreNew) {
  const auto result = expand("$A ${N} ${E:-x}", some_variables);
  EXPECT_EQ(mesh::join(result->names, " "), "A N E");
  EXPECT_EQ(mesh::join(result->missing, " "), "N");
  EXPECT_FALSE(result->new_forms);
  for (const auto* word : {"${A-x}", "${A#x}", "${A%x}", "${A/x/y}", "${A:?x}", "\"${A+x}\""}) {
    EXPECT_TRUE(expand(word, some_variables)->new_forms) << word;
  }
}

TEST(ExpandTest, IsBounded) {
  std::string deep;
  for (int i = 0; i < 100; ++i) {
    deep += "${N:-";
  }
  EXPECT_FALSE(expand(deep + std::string(100, '}'), some_variables).has_value());
  const auto twice = [](std::string_view) { return std::optional(std::string(600'000, 'x')); };
  EXPECT_FALSE(expand("$A$A", twice).has_value());
}

}  // namespace
