#pragma once

// Included by this room's sources alone.

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace mesh::declaration {

/// Reads the members of one JSON object; the first that is missing or of another type is kept as
/// the error, and what is read from then on is empty. So a whole object is read without a check
/// after each line, and `done` is asked once.
class Fields {
 public:
  /// `where` names the object in the message. `object` is borrowed.
  Fields(const nlohmann::json& object, std::string where);

  [[nodiscard]] std::string text(const char* key);
  [[nodiscard]] std::string bytes(const char* key);  // written in base 64
  [[nodiscard]] std::int64_t integer(const char* key);
  [[nodiscard]] double number(const char* key);
  [[nodiscard]] bool flag(const char* key);
  [[nodiscard]] std::vector<std::string> texts(const char* key);
  /// An object or array, or an empty one of the kind.
  [[nodiscard]] const nlohmann::json& object(const char* key);
  [[nodiscard]] const nlohmann::json& array(const char* key);
  /// Nothing where it is null or missing.
  [[nodiscard]] const nlohmann::json* optional(const char* key) const;
  /// Something else is wrong with `key`.
  void wrong(const char* key, const char* expected);

  [[nodiscard]] Status done() const;

 private:
  [[nodiscard]] const nlohmann::json& find(const char* key) const;
  const nlohmann::json& json_;
  std::string where_;
  std::string trouble_;
};

}  // namespace mesh::declaration
