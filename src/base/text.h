#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mesh {

/// The pieces of `text` between each `separator`; an empty text gives one empty piece. The views
/// point into `text`.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

/// `parts` with `separator` between each two.
[[nodiscard]] std::string join(std::span<const std::string> parts, std::string_view separator);

/// The candidate that a person most likely meant by `word` (edit distance, a swap counted once, at
/// most a third of its length, at least 1, and less than all of it), or an empty string. Ties go to
/// the first candidate.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string> candidates);

/// `1 module`, `2 modules`.
[[nodiscard]] std::string counted(std::uint64_t number, std::string_view word);

/// How many of the first bytes are well-formed UTF-8: all of them where all are.
[[nodiscard]] std::size_t utf8_prefix(std::string_view bytes);

/// True where `bytes` are well-formed UTF-8 (no overlong forms, surrogates or values past
/// U+10FFFF).
[[nodiscard]] bool is_utf8(std::string_view bytes);

/// `text` fit for one line of a terminal: control characters and bytes that are not UTF-8 become
/// `\xNN`, and what is longer than `most` bytes is cut with `…`.
[[nodiscard]] std::string printable(std::string_view text, std::size_t most = 120);

/// What another program said, for a message: `what: words` on one line, or, where `words` are
/// blank, `what, without a word`.
[[nodiscard]] std::string with_words(std::string what, std::string_view words,
                                     std::size_t most = 1000);

}  // namespace mesh
