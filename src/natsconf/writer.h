#pragma once

#include <string>
#include <string_view>

/// Text that nats-server reads back as exactly what was meant.
namespace mesh::natsconf {

/// Appends `text` in double quotes to `out`. Any bytes can be said: what the grammar would read
/// otherwise (quotes, back slashes, control characters, NUL) is escaped; the rest stays as it is.
void append_quoted(std::string& out, std::string_view text);

/// `text` in double quotes; see append_quoted.
[[nodiscard]] std::string quoted_text(std::string_view text);

/// True where `text` can stand as a key in double quotes. Keys know no escapes, so a key holds no
/// double quote and no NUL, and is not empty.
[[nodiscard]] bool is_writable_key(std::string_view text);

}  // namespace mesh::natsconf
