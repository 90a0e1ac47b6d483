#include "declaration/fields.h"

#include <fmt/format.h>

#include "base/base64.h"

namespace mesh::declaration {

namespace {

const nlohmann::json& nothing() {
  static const nlohmann::json kNothing;
  return kNothing;
}

const nlohmann::json& no_members() {
  static const nlohmann::json kNone = nlohmann::json::object();
  return kNone;
}

const nlohmann::json& no_elements() {
  static const nlohmann::json kNone = nlohmann::json::array();
  return kNone;
}

}  // namespace

Fields::Fields(const nlohmann::json& object, std::string where)
    : json_(object), where_(std::move(where)) {
  if (!json_.is_object()) {
    trouble_ = where_ + " is not an object";
  }
}

const nlohmann::json& Fields::find(const char* key) const {
  if (!json_.is_object()) {
    return nothing();
  }
  const auto found = json_.find(key);
  return found == json_.end() ? nothing() : *found;
}

void Fields::wrong(const char* key, const char* expected) {
  if (trouble_.empty()) {
    trouble_ = fmt::format("`{}` of {} is not {}", key, where_, expected);
  }
}

std::string Fields::text(const char* key) {
  const auto& value = find(key);
  if (!value.is_string()) {
    wrong(key, "a text");
    return {};
  }
  return value.get<std::string>();
}

std::string Fields::bytes(const char* key) {
  auto decoded = from_base64(text(key));
  if (!decoded) {
    wrong(key, "base 64");
    return {};
  }
  return *std::move(decoded);
}

std::int64_t Fields::integer(const char* key) {
  const auto& value = find(key);
  if (!value.is_number_integer()) {
    wrong(key, "a whole number");
    return 0;
  }
  return value.get<std::int64_t>();
}

double Fields::number(const char* key) {
  const auto& value = find(key);
  if (!value.is_number()) {
    wrong(key, "a number");
    return 0;
  }
  return value.get<double>();
}

bool Fields::flag(const char* key) {
  const auto& value = find(key);
  if (!value.is_boolean()) {
    wrong(key, "true or false");
    return false;
  }
  return value.get<bool>();
}

std::vector<std::string> Fields::texts(const char* key) {
  std::vector<std::string> out;
  for (const auto& element : array(key)) {
    if (!element.is_string()) {
      wrong(key, "a list of texts");
      return {};
    }
    out.push_back(element.get<std::string>());
  }
  return out;
}

const nlohmann::json& Fields::object(const char* key) {
  const auto& value = find(key);
  if (!value.is_object()) {
    wrong(key, "an object");
    return no_members();
  }
  return value;
}

const nlohmann::json& Fields::array(const char* key) {
  const auto& value = find(key);
  if (!value.is_array()) {
    wrong(key, "a list");
    return no_elements();
  }
  return value;
}

const nlohmann::json* Fields::optional(const char* key) const {
  const auto& value = find(key);
  return value.is_null() ? nullptr : &value;
}

Status Fields::done() const {
  return trouble_.empty() ? Status() : fail(Code::Corrupt, trouble_);
}

}  // namespace mesh::declaration
