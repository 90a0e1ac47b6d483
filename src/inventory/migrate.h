#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "inventory/sqlite.h"

namespace mesh::inventory {

/// The statements that lead from schema N-1 to schema N, each as one text; the first makes an empty
/// database schema 1.
using Migrations = std::span<const char* const>;

/// Mesh's own.
[[nodiscard]] Migrations migrations();

/// Brings `database`, which is the file at `path`, to the last of `steps`, in one transaction; a
/// copy of what was there is kept as `<path>.v<N>` first. Does nothing where it is there already.
/// Errors: Unsupported (its schema is newer: the message says which version wrote it), Corrupt (no
/// inventory at all), and as Database.
[[nodiscard]] Status migrate(Database& database, const std::string& path, Migrations steps);

/// An empty database becomes one of the last schema.
[[nodiscard]] Status make_schema(Database& database, Migrations steps);

}  // namespace mesh::inventory
