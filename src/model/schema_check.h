#pragma once

#include <string>

#include "model/value.h"

namespace mesh::model {

/// Reports what is no JSON Schema in `text`, which must be valid JSON: keywords whose values are
/// not what the specification says (drafts 7 to 2020-12), and types that do not exist. Unknown
/// keywords are allowed, as it says. False where something was reported.
bool check_schema(const std::string& text, const Source& source);

}  // namespace mesh::model
