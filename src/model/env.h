#pragma once

#include "model/declarations.h"
#include "model/table.h"

namespace mesh::model {

/// The name of a secret: a letter or `_`, then letters, digits, `_`, `-` and `.`, at most 63
/// characters. It is also a file's name. Errors: InvalidArgument.
[[nodiscard]] Result<std::string> parse_secret_name(std::string_view text);

/// Reads a table of environment variables: texts, or `{ secret = NAME }`.
void read_env(const Table& table, std::string_view key, Env& out);

/// Reads a table of texts.
void read_texts(const Table& table, std::string_view key, std::map<std::string, std::string>& out);

}  // namespace mesh::model
