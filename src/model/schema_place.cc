#include "model/schema_place.h"

#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

namespace mesh::model {

namespace {

/// Walks valid JSON without building it. Each function takes the offset at which something begins.
class JsonWalk {
 public:
  explicit JsonWalk(std::string_view text) : text_(text) {}

  [[nodiscard]] std::size_t skip_space(std::size_t at) const {
    return std::min(text_.find_first_not_of(" \t\r\n", at), text_.size());
  }

  /// Where the value that one step leads to begins.
  [[nodiscard]] std::optional<std::size_t> step(std::size_t at, const JsonStep& wanted) const {
    const auto* key = std::get_if<std::string>(&wanted);
    if (at >= text_.size() || text_[at] != (key != nullptr ? '{' : '[')) {
      return std::nullopt;
    }
    std::optional<std::size_t> found;
    std::size_t index = 0;
    for (at = skip_space(at + 1); at < text_.size() && text_[at] != '}' && text_[at] != ']';) {
      bool here = key == nullptr && std::get<std::size_t>(wanted) == index;
      if (key != nullptr) {
        const auto end = end_of_string(at);
        here = is_text(text_.substr(at, end - at), *key);
        at = skip_space(skip_space(end) + 1);  // past the colon
      }
      found = here ? std::optional(at) : found;
      at = skip_space(end_of_value(at));
      at = at < text_.size() && text_[at] == ',' ? skip_space(at + 1) : at;
      ++index;
    }
    return found;
  }

 private:
  static bool is_text(std::string_view quoted, const std::string& wanted) {
    const auto value = nlohmann::json::parse(quoted, nullptr, false);
    return value.is_string() && value.get_ref<const std::string&>() == wanted;
  }

  [[nodiscard]] std::size_t end_of_string(std::size_t at) const {
    for (++at; at < text_.size() && text_[at] != '"'; ++at) {
      at += text_[at] == '\\' ? 1U : 0U;
    }
    return std::min(at + 1, text_.size());
  }

  /// Counts brackets and does not recurse: text may be nested as deeply as it is long.
  [[nodiscard]] std::size_t end_of_value(std::size_t at) const {
    std::size_t depth = 0;
    while (at < text_.size()) {
      const char c = text_[at];
      if (c == '"') {
        at = end_of_string(at);
      } else if (c == '{' || c == '[') {
        ++depth;
        ++at;
        continue;
      } else if (c == '}' || c == ']') {
        --depth;
        ++at;
      } else {
        at = std::min(text_.find_first_of(depth > 0 ? "\"{}[]" : ",}] \t\r\n", at), text_.size());
      }
      if (depth == 0) {
        return at;
      }
    }
    return at;
  }

  std::string_view text_;
};

}  // namespace

Place place_at(std::string_view text, std::size_t offset, const Source& source) {
  const auto before = text.substr(0, offset);
  const auto line = std::ranges::count(before, '\n') + 1;
  const auto start = before.rfind('\n') + 1;  // npos + 1 is 0
  return {source.file, static_cast<int>(line), static_cast<int>(before.size() - start) + 1};
}

Place place_in_json(std::string_view text, std::span<const JsonStep> path, const Source& source) {
  const JsonWalk walk(text);
  auto at = walk.skip_space(0);
  for (const auto& step : path) {
    const auto next = walk.step(at, step);
    if (!next) {
      break;
    }
    at = *next;
  }
  return place_at(text, at, source);
}

}  // namespace mesh::model
