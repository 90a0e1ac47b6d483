#include "base/json_text.h"

#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace mesh {

namespace {

/// Sees the events of the parser: keys that are there twice, and depth.
class JsonGuard {
 public:
  explicit JsonGuard(int depth) : most_(depth) {}

  bool take(int depth, nlohmann::json::parse_event_t event, const nlohmann::json& parsed) {
    using Event = nlohmann::json::parse_event_t;
    deep_ = deep_ || depth > most_;
    if (event == Event::object_start) {
      keys_.emplace_back();
    } else if (event == Event::object_end && !keys_.empty()) {
      keys_.pop_back();
    } else if (event == Event::key && !keys_.empty()) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second && twice_.empty()) {
        twice_ = printable(key, 60);
      }
    }
    return !deep_;
  }

  [[nodiscard]] Status verdict() const {
    if (deep_) {
      return fail(Code::Corrupt, fmt::format("it is nested deeper than {} levels", most_));
    }
    if (!twice_.empty()) {
      return fail(Code::Corrupt, fmt::format("the key \"{}\" stands twice in one object", twice_));
    }
    return {};
  }

 private:
  int most_;
  bool deep_ = false;
  std::string twice_;
  std::vector<std::set<std::string>> keys_;
};

}  // namespace

Result<nlohmann::json> parse_json(std::string_view bytes, const JsonLimits& limits) {
  if (bytes.size() > limits.bytes) {
    return fail(Code::Corrupt, fmt::format("it has more than {} bytes", limits.bytes));
  }
  JsonGuard guard(limits.depth);
  nlohmann::json parsed;
  try {
    parsed = nlohmann::json::parse(
        bytes.begin(), bytes.end(),
        [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& value) {
          return guard.take(depth, event, value);
        });
  } catch (const nlohmann::json::parse_error& error) {
    return fail(Code::Corrupt, fmt::format("it is not JSON (byte {})", error.byte));
  } catch (const nlohmann::json::exception& error) {
    return fail(Code::Corrupt,
                fmt::format("it is not JSON that can be read (reason {})", error.id));
  }
  MESH_CHECK(guard.verdict());
  return parsed;
}

}  // namespace mesh
