#pragma once

#include <cstddef>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace mesh {

struct JsonLimits {
  std::size_t bytes = std::size_t{4} << 20U;
  int depth = 32;
};

/// Parses JSON that a stranger wrote. Corrupt: not JSON (with the byte's number), larger or deeper
/// than the limits, a key that stands twice in one object. No message quotes the text but for a key
/// that is there twice.
[[nodiscard]] Result<nlohmann::json> parse_json(std::string_view bytes,
                                                const JsonLimits& limits = {});

}  // namespace mesh
