#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/place.h"
#include "model/value.h"

namespace mesh::model {

/// A step into a JSON value: a key of an object, or the index of an item.
using JsonStep = std::variant<std::string, std::size_t>;

/// The place of the byte `offset` of `text`.
[[nodiscard]] Place place_at(std::string_view text, std::size_t offset, const Source& source);

/// Where the value that `path` leads to begins in `text`, which must be valid JSON. Of a key that
/// is there twice the last one counts, as for the parser; where the path ends early, so does the
/// place. (The JSON library keeps no places.)
[[nodiscard]] Place place_in_json(std::string_view text, std::span<const JsonStep> path,
                                  const Source& source);

}  // namespace mesh::model
