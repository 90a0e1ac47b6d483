#pragma once

#include <cstddef>

/// Classes of characters as Go's `unicode` package has them, since nats-server asks that package.
/// All take a place in a text that ends with a NUL byte.
namespace mesh::natsconf {

/// Space and tab: what separates on one line.
[[nodiscard]] constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
[[nodiscard]] constexpr bool is_line_end(char c) {
  return c == '\n' || c == '\r';
}
[[nodiscard]] constexpr bool is_separator(char c) {
  return c == '=' || c == ':';
}
/// `k`, `M`, …: what may follow a number.
[[nodiscard]] bool is_number_suffix(char c);

/// Bytes of the Unicode white space at `at`; 0 where there is none.
[[nodiscard]] std::size_t space_width(const char* at);
/// Bytes of the Unicode decimal digit (category Nd) at `at`; 0 where there is none.
[[nodiscard]] std::size_t digit_width(const char* at);
/// Bytes of the character at `at`; 1 for NUL and for what is not UTF-8.
[[nodiscard]] std::size_t character_width(const char* at);

}  // namespace mesh::natsconf
