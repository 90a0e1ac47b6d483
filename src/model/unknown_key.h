#pragma once

#include <string>
#include <string_view>

#include "model/keys.h"
#include "model/value.h"

namespace mesh::model {

/// Reports a key that tables of this kind do not have, with what the operator most likely meant: a
/// key of the file's top that slid into this table, a name that needs quotes, something that this
/// version does not have, or the nearest known key. `block`: the table was opened by a header.
void report_unknown_key(const Entry& entry, const Kind& kind, const std::string& shown, bool block);

/// Whether `key`, missing at the file's top, slid into one of its tables (which is reported there).
[[nodiscard]] bool slid_away(std::string_view key, const Kind& kind, const Value& top);

/// Whether a key of the file's top, a list, slid into a table that a header opened; reports it if
/// so. `kind` is any kind of that file.
bool report_slid_key(const Entry& entry, const Kind& kind);

}  // namespace mesh::model
