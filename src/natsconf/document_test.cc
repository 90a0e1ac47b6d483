#include "natsconf/document.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include <fmt/format.h>

#include "natsconf/digest.h"
#include "natsconf/writer.h"

namespace mesh::natsconf {
namespace {

class FakeSurroundings : public Surroundings {
 public:
  Result<Included> include(const std::string& includer, std::string_view path) override {
    asked.push_back(includer + " -> " + std::string(path));
    const auto found = files.find(std::string(path));
    if (found == files.end()) {
      return fail(Code::NotFound, "no such file");
    }
    return Included{found->first, found->second};
  }
  std::optional<std::string> variable(std::string_view name) override {
    const auto found = environment.find(std::string(name));
    return found == environment.end() ? std::nullopt : std::optional(found->second);
  }

  std::map<std::string, std::string> files;
  std::map<std::string, std::string> environment;
  std::vector<std::string> asked;
};

std::string json_of(const std::string& text, Surroundings* surroundings = nullptr,
                    Dialect dialect = Dialect::Nats210) {
  const auto document = parse(text, {"a.conf", surroundings, dialect});
  if (!document) {
    const Error& error = document.error();
    return fmt::format("{}:{}:{}: {}", error.place.file_name(), error.place.line,
                       error.place.column, error.message);
  }
  return to_json(document->root());
}

struct Case {
  const char* text;
  const char* json;
};

class MeaningTest : public testing::TestWithParam<Case> {};

TEST_P(MeaningTest, IsWhatTheServerMeans) {
  EXPECT_EQ(json_of(GetParam().text), GetParam().json);
}

INSTANTIATE_TEST_SUITE_P(
    Grammar, MeaningTest,
    testing::Values(
        Case{"a = 1\nb: 2\nc 3", R"({"a":1,"b":2,"c":3})"},
        Case{"a { b { c = d } }", R"({"a":{"b":{"c":"d"}}})"},
        Case{"a [ x, 'y z' ]", R"({"a":["x","y z"]})"},
        Case{R"(a = "\x41\t\"")", R"({"a":"A\t\""})"},
        Case{"a = 5k, b = 5kb, c = 5MiB", R"({"a":5000,"b":5120,"c":5242880})"},
        Case{"a = 1.50, b = -2", R"({"a":1.5,"b":-2})"},
        Case{"a = yes, b = Off", R"({"a":true,"b":false})"},
        Case{"a = 2006-01-02T15:04:05Z", R"({"a":"2006-01-02T15:04:05Z"})"},
        Case{"a = $2a$11$xyz", R"({"a":"$2a$11$xyz"})"},
        Case{"a = 127.0.0.1:4222", R"({"a":"127.0.0.1:4222"})"},
        Case{"a = (\n x {\n)\n", R"({"a":"\n x {\n"})"}, Case{"{ \"a\": 1 }", R"({"a":1})"},
        // What stands twice counts once, as the last.
        Case{"a = 1\na = 2", R"({"a":2})"},
        Case{"x = 1\nm { a = $x, x = 2, b = $x }", R"({"m":{"a":1,"b":2,"x":2},"x":1})"},
        // A key without a value gives its map to the key before it, and is the map's name itself.
        Case{"m { a }", R"({"a":{}})"}, Case{"a = 1kbb\nb = 2", R"({"b":2})"}, Case{"", "{}"},
        Case{"# nothing", "{}"}));

INSTANTIATE_TEST_SUITE_P(
    Refusals, MeaningTest,
    testing::Values(
        Case{"a = [1,\n 2]",
             "a.conf:2:4: expected ',' or ']' after a value of an array, found "
             "the end of the text"},
        Case{"a", "a.conf:1:2: 'a' has no value"},
        Case{"\n  a = \"x\\y\"",
             "a.conf:2:9: unknown escape; there are \\xXX, \\t, \\n, \\r, \\\" and \\\\"},
        Case{"a = 99999999999999999999",
             "a.conf:1:5: integer '99999999999999999999' is out of range"},
        Case{"a = 2023-02-29T00:00:00Z",
             "a.conf:1:5: there is no such date: '2023-02-29T00:00:00Z'"},
        Case{"a = 4e2abc", "a.conf:1:7: expected the end of the line after a value, found '2'"},
        Case{"a = $HOME", "a.conf:1:5: variable '$HOME' is not set in the file or the environment"},
        Case{"b = 1\ninclude 'x.conf'", "a.conf:2:9: 'x.conf' cannot be included here"}));

TEST(DocumentTest, TheDialectsDifferInSuffixedNumbers) {
  EXPECT_EQ(json_of("a = 4e2abc", nullptr, Dialect::Nats215), R"({"a":"4e2abc"})");
  EXPECT_EQ(json_of("a = 1k5", nullptr, Dialect::Nats215), R"({"a":"1k5"})");
}

TEST(DocumentTest, KnowsWhereThingsStand) {
  const auto document = parse("# c\nmap {\n  \"key\": [ 1 ,\n    two ]\n}\n", {"a.conf"});
  ASSERT_TRUE(document);
  const Entry& map = document->root().entries()[0];
  EXPECT_EQ(map.at.line, 2U);
  EXPECT_EQ(map.at.column, 1U);
  EXPECT_EQ(map.value.at().column, 5U);
  const Entry& key = map.value.entries()[0];
  EXPECT_EQ(key.at.line, 3U);
  EXPECT_EQ(key.at.column, 3U);
  const Value& two = key.value.items()[1];
  EXPECT_EQ(two.at().line, 4U);
  EXPECT_EQ(two.at().column, 5U);
  EXPECT_EQ(document->place(two.at()).file_name(), "a.conf");
}

TEST(DocumentTest, KeepsEveryEntry) {
  const auto document = parse("a = 1\nb = 2\na = 3\n");
  ASSERT_TRUE(document);
  EXPECT_EQ(document->root().entries().size(), 3U);
  EXPECT_EQ(document->root().find("a")->integer(), 3);
  EXPECT_EQ(document->root().find("c"), nullptr);
}

TEST(DocumentTest, Includes) {
  FakeSurroundings around;
  around.files = {{"b.conf", "x = 1\ninclude c.conf"}, {"c.conf", "y = $x"}, {"d.conf", "y = 2"}};
  EXPECT_EQ(json_of("x = 0\ninclude 'b.conf'", &around),
            "c.conf:1:5: variable '$x' is not set in the file or the environment");
  around.files["c.conf"] = "y = 3";
  EXPECT_EQ(json_of("x = 0\ninclude 'b.conf'\nm { include d.conf; z = $y }", &around),
            R"({"m":{"y":2,"z":2},"x":1,"y":3})");
  EXPECT_EQ(around.asked.back(), "a.conf -> d.conf");
  EXPECT_EQ(json_of("include e.conf", &around), "a.conf:1:9: include 'e.conf': no such file");
}

TEST(DocumentTest, AFileThatIncludesItselfEnds) {
  FakeSurroundings around;
  around.files = {{"b.conf", "include b.conf"}};
  EXPECT_EQ(json_of("include b.conf", &around), "b.conf:1:9: 'b.conf' is included too deep");
}

TEST(DocumentTest, TheEnvironmentIsReadAsAValue) {
  FakeSurroundings around;
  around.environment = {{"N", "5k"}, {"S", "\"a b\""}, {"L", "[ x, $N ]"},
                        {"C", "$C"}, {"D", "$E"},      {"E", "$D"},
                        {"E0", ""},  {"B", "["},       {"M", "1\nb = 2"}};
  EXPECT_EQ(json_of("a = [ $N, $S, $L, $E0 ]", &around), R"({"a":[5000,"a b",["x",5000],""]})");
  EXPECT_EQ(json_of("a = $M", &around), R"({"a":1})");
  EXPECT_NE(json_of("a = $C", &around).find("names itself"), std::string::npos);
  EXPECT_NE(json_of("a = $D", &around).find("names itself"), std::string::npos);
  EXPECT_NE(json_of("a = $B", &around).find("cannot be read"), std::string::npos);
}

TEST(DocumentTest, AVariableOfALongMapIsFound) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text += fmt::format("k{} = {}\n", i, i);
  }
  text += "k7 = 8\na = $k7\nb = $k999\n";
  const auto document = parse(text);
  ASSERT_TRUE(document);
  EXPECT_EQ(document->root().find("a")->integer(), 8);
  EXPECT_EQ(document->root().find("b")->integer(), 999);
  EXPECT_TRUE(document->root().find("a")->from_variable());
  EXPECT_TRUE(document->root().entries()[999].used);
  EXPECT_FALSE(document->root().entries()[998].used);
}

TEST(DocumentTest, VariablesCannotBlowUp) {
  std::string text = "a0 = [ x ]\n";
  for (int i = 1; i < 64; ++i) {
    text += fmt::format("a{} = [ $a{}, $a{} ]\n", i, i - 1, i - 1);
  }
  const auto document = parse(text);
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().message, "the configuration stands for too many values");
  EXPECT_FALSE(parse("a = " + std::string(100'000, '[')));
  EXPECT_FALSE(parse("a = " + std::string(2'000, '[') + std::string(2'000, ']')));
  EXPECT_TRUE(parse("a = " + std::string(900, '[') + std::string(900, ']')));
}

TEST(DocumentTest, OutlivesAMove) {
  auto first = parse("a = \"x\\ty\"");
  ASSERT_TRUE(first);
  const Document second = std::move(*first);
  EXPECT_EQ(second.root().find("a")->text(), "x\ty");
}

TEST(WriterTest, WhatIsQuotedIsReadBack) {
  std::string all;
  for (int c = 0; c < 256; ++c) {
    all += static_cast<char>(c);
  }
  const auto document = parse("a = " + quoted_text(all));
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(document->root().find("a")->text(), all);
  EXPECT_EQ(quoted_text("a\"b\\\n\x01"), R"("a\"b\\\n\x01")");
  EXPECT_EQ(quoted_text("$JS.ACK.>"), R"("$JS.ACK.>")");
}

TEST(WriterTest, Keys) {
  EXPECT_TRUE(is_writable_key("NODE_one"));
  EXPECT_TRUE(is_writable_key("a b'{"));
  EXPECT_FALSE(is_writable_key(""));
  EXPECT_FALSE(is_writable_key("a\"b"));
  EXPECT_FALSE(is_writable_key(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace mesh::natsconf
