#pragma once

#include "model/declarations.h"
#include "model/table.h"
#include "model/value.h"

namespace mesh::model {

/// What a `module.toml` says; its tools' schemas are still unread (`Tool::input_schema`). Problems
/// go to the root's source.
[[nodiscard]] ModuleFile read_module_toml(const Value& root);

/// `[components.*]`, sorted by name.
[[nodiscard]] std::vector<Component> read_components(const Table& top);

}  // namespace mesh::model
