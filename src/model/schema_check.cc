#include "model/schema_check.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "model/report.h"
#include "model/schema_place.h"

namespace mesh::model {

namespace {

using Json = nlohmann::json;

/// What a keyword's value must be.
enum class Shape {
  Types,  // one name of a type, or several
  Schema,
  Schemas,       // a list of schemas, not empty
  SchemaOrList,  // `items` of draft 7 may be a list
  SchemaMap,     // an object of schemas
  Names,         // a list of strings
  List,
  Text,
  Number,
  NumberOrFlag,  // exclusiveMinimum was a flag once
  Count,
  Flag,
};

struct Keyword {
  std::string_view name;
  Shape shape;
};

constexpr std::array kKeywords = {
    Keyword{"$anchor", Shape::Text},
    Keyword{"$comment", Shape::Text},
    Keyword{"$defs", Shape::SchemaMap},
    Keyword{"$id", Shape::Text},
    Keyword{"$ref", Shape::Text},
    Keyword{"$schema", Shape::Text},
    Keyword{"additionalItems", Shape::Schema},
    Keyword{"additionalProperties", Shape::Schema},
    Keyword{"allOf", Shape::Schemas},
    Keyword{"anyOf", Shape::Schemas},
    Keyword{"contains", Shape::Schema},
    Keyword{"definitions", Shape::SchemaMap},
    Keyword{"dependentSchemas", Shape::SchemaMap},
    Keyword{"description", Shape::Text},
    Keyword{"else", Shape::Schema},
    Keyword{"enum", Shape::List},
    Keyword{"examples", Shape::List},
    Keyword{"exclusiveMaximum", Shape::NumberOrFlag},
    Keyword{"exclusiveMinimum", Shape::NumberOrFlag},
    Keyword{"format", Shape::Text},
    Keyword{"if", Shape::Schema},
    Keyword{"items", Shape::SchemaOrList},
    Keyword{"maxItems", Shape::Count},
    Keyword{"maxLength", Shape::Count},
    Keyword{"maxProperties", Shape::Count},
    Keyword{"maximum", Shape::Number},
    Keyword{"minItems", Shape::Count},
    Keyword{"minLength", Shape::Count},
    Keyword{"minProperties", Shape::Count},
    Keyword{"minimum", Shape::Number},
    Keyword{"multipleOf", Shape::Number},
    Keyword{"not", Shape::Schema},
    Keyword{"oneOf", Shape::Schemas},
    Keyword{"pattern", Shape::Text},
    Keyword{"patternProperties", Shape::SchemaMap},
    Keyword{"prefixItems", Shape::Schemas},
    Keyword{"properties", Shape::SchemaMap},
    Keyword{"propertyNames", Shape::Schema},
    Keyword{"required", Shape::Names},
    Keyword{"then", Shape::Schema},
    Keyword{"title", Shape::Text},
    Keyword{"type", Shape::Types},
    Keyword{"unevaluatedItems", Shape::Schema},
    Keyword{"unevaluatedProperties", Shape::Schema},
    Keyword{"uniqueItems", Shape::Flag},
};

/// Deeper schemas are refused, so that whoever follows them needs no more stack than this.
constexpr std::size_t kDeepest = 200;

const std::vector<std::string>& type_names() {
  static const std::vector<std::string> kNames = {"array",  "boolean", "integer", "null",
                                                  "number", "object",  "string"};
  return kNames;
}

bool all_strings(const Json& list) {
  return list.is_array() &&
         std::ranges::all_of(list, [](const Json& item) { return item.is_string(); });
}

class Checker {
 public:
  Checker(const std::string& text, const Source& source) : text_(text), source_(source) {}

  void schema(const Json& value) {
    if (value.is_boolean()) {
      return;
    }
    if (!value.is_object()) {
      report("a JSON Schema is an object, or true or false");
      return;
    }
    if (path_.size() > kDeepest) {
      report("this schema is nested too deeply", "give its parts names in $defs, and use $ref");
      return;
    }
    for (const auto& [name, inner] : value.items()) {
      const auto found = std::ranges::lower_bound(kKeywords, name, {}, &Keyword::name);
      if (found != kKeywords.end() && found->name == name) {
        within(name, [&] { keyword(*found, inner); });
      }
    }
  }

  [[nodiscard]] bool good() const { return good_; }

 private:
  void report(std::string message, std::string hint = {}) {
    good_ = false;
    source_.report.error(place_in_json(text_, path_, source_), "bad-schema", std::move(message),
                         std::move(hint));
  }

  /// Does `what` with `step` as the last one of the path.
  template <class What>
  void within(JsonStep step, What what) {
    path_.push_back(std::move(step));
    what();
    path_.pop_back();
  }

  void expect(bool good, const Keyword& keyword, std::string_view what) {
    if (!good) {
      report(fmt::format("\"{}\" must be {}", keyword.name, what));
    }
  }

  void schemas(const Json& list, const Keyword& keyword) {
    if (!list.is_array() || list.empty()) {
      report(fmt::format("\"{}\" must be a list of schemas, with at least one", keyword.name));
      return;
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      within(i, [&] { schema(list[i]); });
    }
  }

  void schema_map(const Json& object, const Keyword& keyword) {
    if (!object.is_object()) {
      report(fmt::format("\"{}\" must be an object: a schema for each name", keyword.name));
      return;
    }
    for (const auto& [name, inner] : object.items()) {
      within(name, [&] { schema(inner); });
    }
  }

  void type(const Json& value) {
    if (!value.is_string()) {
      report("\"type\" must be the name of a type, or a list of such names", all_types());
      return;
    }
    const auto& name = value.get_ref<const std::string&>();
    if (std::ranges::find(type_names(), name) == type_names().end()) {
      const auto meant = nearest(name, type_names());
      report(fmt::format("\"{}\" is no type of JSON Schema", printable(name)),
             meant.empty() ? all_types() : fmt::format("did you mean \"{}\"?", meant));
    }
  }

  static std::string all_types() {
    return fmt::format("the types are {}", join(type_names(), ", "));
  }

  void types(const Json& value) {
    if (!value.is_array()) {
      type(value);
      return;
    }
    if (value.empty()) {
      report("\"type\" is an empty list, which nothing is", all_types());
    }
    for (std::size_t i = 0; i < value.size(); ++i) {
      within(i, [&] { type(value[i]); });
    }
  }

  void keyword(const Keyword& keyword, const Json& value) {
    switch (keyword.shape) {
      case Shape::Types:
        return types(value);
      case Shape::Schema:
        return schema(value);
      case Shape::Schemas:
        return schemas(value, keyword);
      case Shape::SchemaOrList:
        return value.is_array() && !value.empty() ? schemas(value, keyword) : schema(value);
      case Shape::SchemaMap:
        return schema_map(value, keyword);
      case Shape::Names:
        return expect(all_strings(value), keyword, "a list of names, each in quotes");
      default:
        return plain(keyword, value);
    }
  }

  /// Keywords that hold no schemas.
  void plain(const Keyword& keyword, const Json& value) {
    switch (keyword.shape) {
      case Shape::List:
        return expect(value.is_array(), keyword, "a list");
      case Shape::Text:
        return expect(value.is_string(), keyword, "a text in quotes");
      case Shape::Number:
        return expect(value.is_number(), keyword, "a number");
      case Shape::NumberOrFlag:
        return expect(value.is_number() || value.is_boolean(), keyword, "a number");
      case Shape::Count:
        return expect(is_count(value), keyword, "a whole number, at least 0");
      default:
        return expect(value.is_boolean(), keyword, "true or false");
    }
  }

  /// JSON Schema counts 2.0 as a whole number.
  static bool is_count(const Json& value) {
    return value.is_number_unsigned() ||
           (value.is_number_float() && value.get<double>() >= 0 &&
            value.get<double>() == static_cast<double>(static_cast<std::int64_t>(
                                       std::min(value.get<double>(), 9e15))));
  }

  const std::string& text_;
  const Source& source_;
  std::vector<JsonStep> path_;
  bool good_ = true;
};

}  // namespace

bool check_schema(const std::string& text, const Source& source) {
  static_assert(std::ranges::is_sorted(kKeywords, {}, &Keyword::name));
  Checker checker(text, source);
  checker.schema(Json::parse(text, nullptr, /*allow_exceptions=*/false));
  return checker.good();
}

}  // namespace mesh::model
