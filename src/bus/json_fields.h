#pragma once

// Reading fields of a server's JSON that may be absent or of another type. Included by this room's
// sources alone.

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

namespace mesh::bus {

inline const nlohmann::json& field(const nlohmann::json& object, const char* key) {
  static const nlohmann::json kNothing;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : kNothing;
}

inline std::string text(const nlohmann::json& object, const char* key) {
  const nlohmann::json& value = field(object, key);
  return value.is_string() ? value.get<std::string>() : std::string{};
}

inline std::uint64_t count(const nlohmann::json& object, const char* key) {
  const nlohmann::json& value = field(object, key);
  const bool positive =
      value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
  return positive ? value.get<std::uint64_t>() : 0;
}

inline std::int64_t integer(const nlohmann::json& object, const char* key, std::int64_t otherwise) {
  const nlohmann::json& value = field(object, key);
  return value.is_number_integer() ? value.get<std::int64_t>() : otherwise;
}

inline bool flag(const nlohmann::json& object, const char* key) {
  const nlohmann::json& value = field(object, key);
  return value.is_boolean() && value.get<bool>();
}

}  // namespace mesh::bus
