#include "model/schema_check.h"

#include <gtest/gtest.h>

#include "model/read.h"
#include "tests/support/map_files.h"

namespace mesh::model {
namespace {

/// The problems of a mesh with one tool whose schema is `schema`.
std::string schema_problems(std::string schema) {
  test::MapFiles files;
  files.set("mesh.toml",
            "mesh = \"home\"\n[nodes.one]\n[modules.a]\npath = \"a\"\non = [\"one\"]\n");
  files.set("a/module.toml", "[tools.t]\ninput = \"t.json\"\n");
  files.set("a/t.json", std::move(schema));
  std::string out;
  for (const auto& problem : read_mesh(files).problems) {
    EXPECT_EQ(problem.code, "bad-schema");
    out += to_text(problem) + "\n";
  }
  return out;
}

TEST(SchemaCheck, WhatTheSpecificationAllows) {
  for (const auto* good :
       {"true", " {}", R"({"type": ["object", "null"], "x-own": 1, "frobnicate": {"type": "x"}})",
        R"({"properties": {"type": {"type": "string"}, "required": true}, "required": ["type"]})",
        R"({"items": {"type": "integer"}, "minItems": 2.0, "additionalItems": false})",
        R"({"items": [{"type": "integer"}, true], "uniqueItems": true})",
        R"({"$defs": {"a": {"$ref": "#/$defs/a"}}, "additionalProperties": {"not": {}}})",
        R"({"enum": [{"type": "x"}], "const": {"type": "x"}, "default": {"type": "x"}})",
        R"({"allOf": [{"if": true, "then": {}, "else": {}}], "exclusiveMinimum": 3})"}) {
    EXPECT_EQ(schema_problems(good), "") << good;
  }
}

TEST(SchemaCheck, SaysWhatIsWrongAndWhere) {
  const std::string types = "the types are array, boolean, integer, null, number, object, string";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"type": "strnig"})",
       "1:10: error: \"strnig\" is no type of JSON Schema (did you mean \"string\"?)"},
      {R"({"type": "dictionary"})",
       "1:10: error: \"dictionary\" is no type of JSON Schema (" + types + ")"},
      {"{\n  \"properties\": {\n    \"a b\": { \"type\": [\"null\", \"text\"] }\n  }\n}",
       "3:31: error: \"text\" is no type of JSON Schema (" + types + ")"},
      {R"({"type": 1})",
       "1:10: error: \"type\" must be the name of a type, or a list of such names (" + types + ")"},
      {R"({"type": []})",
       "1:10: error: \"type\" is an empty list, which nothing is (" + types + ")"},
      {R"({"properties": ["a"]})",
       "1:16: error: \"properties\" must be an object: a schema for each name"},
      {R"({"properties": {"a": "string"}})",
       "1:22: error: a JSON Schema is an object, or true or false"},
      {R"({"required": "a"})", "1:14: error: \"required\" must be a list of names, each in quotes"},
      {R"({"required": [1]})", "1:14: error: \"required\" must be a list of names, each in quotes"},
      {R"({"items": "string"})", "1:11: error: a JSON Schema is an object, or true or false"},
      {R"({"items": [{}, 3]})", "1:16: error: a JSON Schema is an object, or true or false"},
      {R"({"enum": "a"})", "1:10: error: \"enum\" must be a list"},
      {R"({"additionalProperties": "no"})",
       "1:26: error: a JSON Schema is an object, or true or false"},
      {R"({"$ref": 1})", "1:10: error: \"$ref\" must be a text in quotes"},
      {R"({"allOf": []})", "1:11: error: \"allOf\" must be a list of schemas, with at least one"},
      {R"({"minLength": -1})", "1:15: error: \"minLength\" must be a whole number, at least 0"},
      {R"({"maximum": "3"})", "1:13: error: \"maximum\" must be a number"},
      {R"({"uniqueItems": 1})", "1:17: error: \"uniqueItems\" must be true or false"},
      {R"({"type": "string", "type": "strnig"})",
       "1:28: error: \"strnig\" is no type of JSON Schema (did you mean \"string\"?)"},
      {R"(  [{"type": "string"}])", "1:3: error: a JSON Schema is an object, or true or false"},
  };
  for (const auto& [schema, said] : cases) {
    EXPECT_EQ(schema_problems(schema), "a/t.json:" + said + "\n") << schema;
  }
}

TEST(SchemaCheck, EveryProblemIsReported) {
  EXPECT_EQ(schema_problems(R"({"type": "x", "anyOf": [{"enum": 1}, {"required": 2}]})"),
            "a/t.json:1:10: error: \"x\" is no type of JSON Schema (the types are array, boolean, "
            "integer, null, number, object, string)\n"
            "a/t.json:1:34: error: \"enum\" must be a list\n"
            "a/t.json:1:51: error: \"required\" must be a list of names, each in quotes\n");
}

TEST(SchemaCheck, AsDeepAsItMayBe) {
  std::string deep;
  std::string end;
  for (int i = 0; i < 100'000; ++i) {
    deep += R"({"not":)";
    end += "}";
  }
  EXPECT_NE(schema_problems(deep + "true" + end).find("nested too deeply"), std::string::npos);
}

}  // namespace
}  // namespace mesh::model
