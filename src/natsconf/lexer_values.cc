#include <array>
#include <cstring>

#include <fmt/format.h>

#include "natsconf/characters.h"
#include "natsconf/lexer.h"

// The states of nats-server's reader in which values stand; the rest is in lexer.cc.
namespace mesh::natsconf {
namespace {

constexpr std::array<bool, 256> stops_of_plain() {
  constexpr std::string_view kBytes("\0\n\r \t;,]}'\\", 11);
  std::array<bool, 256> table{};
  for (const char c : kBytes) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}

constexpr auto kStopsPlain = stops_of_plain();

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) {
    return false;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c =
        text[i] >= 'A' && text[i] <= 'Z' ? static_cast<char>(text[i] - 'A' + 'a') : text[i];
    if (c != lower[i]) {
      return false;
    }
  }
  return true;
}

bool is_bool(std::string_view text) {
  for (const std::string_view word : {"true", "false", "on", "off", "yes", "no"}) {
    if (equals_ignoring_case(text, word)) {
      return true;
    }
  }
  return false;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

void Lexer::step_value() {
  skip_blanks();
  item_start_ = start_ = at_;
  switch (*at_) {
    case '[':
      ++at_;
      state_ = State::ArrayValue;
      return emit(ItemKind::ArrayStart, {});
    case '{':
      ++at_;
      state_ = State::MapKeyStart;
      return emit(ItemKind::MapStart, {});
    case '\'':
      return quoted_string();
    case '"':
      return escaped_string();
    case '-':
      return negative_number();
    case '(':
      return block();
    case '.':
      return fail("a number starts with a digit, not with '.'");
    case '\n':
    case '\r':
      return fail("expected a value, found the end of the line");
    default:
      return digit_width(at_) != 0 ? number() : plain_string();
  }
}

/// After the word `include` and a space.
void Lexer::include_value() {
  skip_blanks();
  item_start_ = start_ = at_;
  const char c = *at_;
  if (c == '"' || c == '\'') {
    return quoted_include(c);
  }
  if (c == '[' || c == '{' || c == '(' || c == '-' || c == '\\' || is_line_end(c) ||
      digit_width(at_) != 0) {
    return fail("expected the path of a file after 'include'; put it in quotes");
  }
  plain_include();
}

void Lexer::quoted_include(char quote) {
  start_ = ++at_;
  while (*at_ != quote && *at_ != '\0') {
    ++at_;
  }
  if (*at_ == '\0') {
    return fail("unexpected end of the text in the path of an include");
  }
  emit_here(ItemKind::Include);
  ++at_;
  pop();
}

void Lexer::plain_include() {
  while (!is_line_end(*at_) && !is_blank(*at_) && *at_ != '\0' && *at_ != ';' && *at_ != '}' &&
         *at_ != '\'') {
    ++at_;
  }
  emit_here(ItemKind::Include);
  at_ += *at_ == '\'' ? 1 : 0;
  pop();
}

/// In single quotes: no escapes.
void Lexer::quoted_string() {
  start_ = ++at_;
  while (*at_ != '\'' && *at_ != '\0') {
    ++at_;
  }
  if (*at_ == '\0') {
    return end_of_text(at_ == end_ && at_ == start_);
  }
  emit_here(ItemKind::String);
  ++at_;
  pop();
}

/// In double quotes.
void Lexer::escaped_string() {
  start_ = ++at_;
  escaped_ = false;
  for (;;) {
    while (*at_ != '"' && *at_ != '\\' && *at_ != '\0') {
      ++at_;
    }
    if (*at_ == '"') {
      emit_string();
      ++at_;
      return pop();
    }
    if (*at_ == '\0') {
      return end_of_text(at_ == end_ && at_ == start_);
    }
    if (!escape()) {
      return;
    }
  }
}

/// Without quotes; what was read of it before stands from `start_`.
void Lexer::plain_string() {
  escaped_ = false;
  for (;;) {
    while (!kStopsPlain[static_cast<unsigned char>(*at_)]) {
      ++at_;
    }
    if (*at_ == '\'') {
      emit_string();
      ++at_;
      return pop();
    }
    if (*at_ != '\\') {
      return finish_plain_string();
    }
    if (!escape()) {
      return;
    }
  }
}

void Lexer::finish_plain_string() {
  const std::string_view text(start_, static_cast<std::size_t>(at_ - start_));
  if (escaped_) {
    emit_string();
  } else if (is_bool(text)) {
    emit(ItemKind::Bool, text);
  } else if (text.starts_with('$')) {
    emit(ItemKind::Variable, text.substr(1));
  } else {
    emit(ItemKind::String, text);
  }
  pop();
}

/// At a back slash: puts what stands before it, and what it means, into `parts_`.
bool Lexer::escape() {
  if (!escaped_) {
    parts_.clear();
    escaped_ = true;
  }
  parts_.append(start_, at_);
  const char c = at_[1];
  constexpr std::string_view kLetters = "tnr\"\\";
  constexpr std::string_view kMeanings = "\t\n\r\"\\";
  const std::size_t letter = c == '\0' ? std::string_view::npos : kLetters.find(c);
  if (letter != std::string_view::npos) {
    parts_ += kMeanings[letter];
    at_ += 2;
  } else if (c == 'x' && hex_digit(at_[2]) >= 0 && hex_digit(at_[3]) >= 0) {
    parts_ += static_cast<char>(hex_digit(at_[2]) * 16 + hex_digit(at_[3]));
    at_ += 4;
  } else {
    fail(c == 'x' ? "expected two hexadecimal digits after '\\x'"
                  : "unknown escape; there are \\xXX, \\t, \\n, \\r, \\\" and \\\\");
    return false;
  }
  start_ = at_;
  return true;
}

void Lexer::emit_string() {
  if (!escaped_) {
    return emit_here(ItemKind::String);
  }
  parts_.append(start_, at_);
  auto* copy = static_cast<char*>(memory_.allocate(parts_.size() + 1, 1));
  std::memcpy(copy, parts_.data(), parts_.size());
  emit(ItemKind::String, {copy, parts_.size()});
}

/// `(` … `)`, the closing one alone on its line.
void Lexer::block() {
  start_ = ++at_;
  for (; *at_ != '\0'; ++at_) {
    if (*at_ != ')' || at_[-1] != '\n' || (at_[1] != '\n' && at_[1] != '\0')) {
      continue;
    }
    const bool last = at_ + 1 == end_;
    at_ +=
        last ? 1 : 0;  // at the end of the text the server takes the `)` for a part of the string
    emit_here(ItemKind::String);
    at_ += last ? 0 : 1;
    return pop();
  }
  fail(at_ < end_ ? "unexpected NUL byte in a block"
                  : "a block is not closed by ')' on its own line");
}

bool Lexer::is_terminator(char c) {
  return is_line_end(c) || is_blank(c) || c == '\0' || c == '}' || c == ';' || c == ',';
}

/// From its first digit: an integer, a float, a date, an address, or text that starts with digits.
void Lexer::number() {
  for (;;) {
    if (const std::size_t width = digit_width(at_); width != 0) {
      at_ += width;
    } else if (*at_ == '-') {
      return datetime();
    } else if (*at_ == '.') {
      return fraction();
    } else if (is_number_suffix(*at_)) {
      return suffixed_number();
    } else if (!is_terminator(*at_)) {
      ++at_;  // taken as it is, be it a quote, a back slash or a bracket
      return plain_string();
    } else {
      break;
    }
  }
  emit_here(ItemKind::Integer);
  pop();
}

void Lexer::negative_number() {
  ++at_;
  if (digit_width(at_) == 0) {
    return fail("expected a digit after '-'");
  }
  for (std::size_t width = digit_width(at_); width != 0; width = digit_width(at_)) {
    at_ += width;
  }
  if (*at_ == '.') {
    return fraction();
  }
  if (is_number_suffix(*at_)) {
    return suffixed_number();
  }
  emit_here(ItemKind::Integer);
  pop();
}

void Lexer::suffixed_number() {
  ++at_;
  while (*at_ == 'b' || *at_ == 'B' || *at_ == 'i' || *at_ == 'I') {
    ++at_;
  }
  const bool digit_ends = dialect_ == Dialect::Nats210 && digit_width(at_) != 0;
  if (!is_terminator(*at_) && !digit_ends) {
    return plain_string();
  }
  emit_here(ItemKind::Integer);
  pop();
}

/// At the point after the first digits.
void Lexer::fraction() {
  ++at_;
  if (digit_width(at_) == 0) {
    return fail("expected a digit after '.'; put text in quotes");
  }
  for (std::size_t width = digit_width(at_); width != 0; width = digit_width(at_)) {
    at_ += width;
  }
  if (*at_ == '.') {
    return address();
  }
  emit_here(ItemKind::Float);
  pop();
}

/// At the second point: 127.0.0.1:4222.
void Lexer::address() {
  for (;;) {
    const std::size_t width = digit_width(at_);
    if (width == 0 && *at_ != '.' && *at_ != ':' && *at_ != '-') {
      break;
    }
    at_ += width != 0 ? width : 1;
  }
  emit_here(ItemKind::String);
  pop();
}

/// At the `-` after the first digits: 2006-01-02T15:04:05Z and nothing else.
void Lexer::datetime() {
  if (at_ - start_ != 4) {
    return fail("expected a date as 2006-01-02T15:04:05Z; put text in quotes");
  }
  for (const char expected : std::string_view("-00-00T00:00:00Z")) {
    const bool fits = expected == '0' ? *at_ >= '0' && *at_ <= '9' : *at_ == expected;
    if (!fits) {
      return fail("expected a date as 2006-01-02T15:04:05Z; put text in quotes");
    }
    ++at_;
  }
  emit_here(ItemKind::Datetime);
  pop();
}

}  // namespace mesh::natsconf
