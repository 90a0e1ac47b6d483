#pragma once

#include <optional>
#include <string>

#include "model/read.h"
#include "model/value.h"

namespace mesh::model {

/// The text of a tool's schema, or nothing with a problem reported: at `named`, where the operator
/// named it, when it cannot be read; in the file itself (`source`) when it is no JSON Schema.
[[nodiscard]] std::optional<std::string> read_schema(const Files& files, const std::string& path,
                                                     const Place& named, const Source& source);

}  // namespace mesh::model
