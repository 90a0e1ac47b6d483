#include "natsconf/lexer.h"

#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "natsconf/characters.h"

namespace mesh::natsconf {
namespace {

constexpr std::array<bool, 256> not_in_key() {
  // The last four are the first bytes of white space outside ASCII.
  constexpr std::string_view kBytes("\0=: \t\n\v\f\r\xc2\xe1\xe2\xe3", 13);
  std::array<bool, 256> table{};
  for (const char c : kBytes) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}

constexpr auto kNotInKey = not_in_key();

/// How a character is named in a message.
std::string named(const char* at, const char* end) {
  if (at >= end) {
    return "the end of the text";
  }
  return fmt::format("'{}'", printable({at, character_width(at)}));
}

/// Go's lower case of `key` is `include`: there is one letter outside ASCII that becomes an `i`.
bool is_include(std::string_view key) {
  constexpr std::string_view kDottedI = "\xc4\xb0";
  constexpr std::string_view kRest = "nclude";
  if (key.starts_with(kDottedI)) {
    key.remove_prefix(kDottedI.size());
  } else if (key.starts_with('i') || key.starts_with('I')) {
    key.remove_prefix(1);
  } else {
    return false;
  }
  if (key.size() != kRest.size()) {
    return false;
  }
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (key[i] != kRest[i] && key[i] != kRest[i] - 'a' + 'A') {
      return false;
    }
  }
  return true;
}

}  // namespace

Lexer::Lexer(std::string_view text, Dialect dialect, std::pmr::memory_resource& memory)
    : begin_(text.data()),
      end_(text.data() + text.size()),
      at_(begin_),
      start_(begin_),
      item_start_(begin_),
      dialect_(dialect),
      memory_(memory) {}

std::size_t Lexer::offset() const {
  return static_cast<std::size_t>(at_ - begin_);
}

bool Lexer::next(Item& item) {
  emitted_ = false;
  while (!emitted_) {
    if (state_ == State::Failed) {
      return false;
    }
    step();
  }
  item = item_;
  return true;
}

void Lexer::step() {
  switch (state_) {
    case State::Top:
      return step_keys(Keys::Top);
    case State::TopValueEnd:
      return step_top_value_end();
    case State::BlockStart:
      return step_keys(Keys::Block);
    case State::BlockValueEnd:
      return step_block_value_end();
    case State::BlockEnd:
      return step_block_end();
    case State::KeyStart:
      return step_key_start();
    case State::KeyEnd:
      return step_key_end();
    case State::Value:
      return step_value();
    case State::ArrayValue:
      return step_array_value();
    case State::ArrayValueEnd:
      return step_array_value_end();
    case State::MapKeyStart:
      return step_map_key_start();
    case State::MapKeyEnd:
      return step_map_key_end();
    case State::MapValue:
      return step_map_value();
    case State::MapValueEnd:
      return step_map_value_end();
    case State::Failed:
      return;
  }
}

void Lexer::step_keys(Keys where) {
  const bool top = where == Keys::Top;
  skip_spaces();
  if (comment(top ? State::Top : State::BlockStart)) {
    return;
  }
  switch (*at_) {
    case '{':
      ++at_;
      push(top ? State::Top : State::BlockEnd);
      state_ = State::BlockStart;
      return;
    case '}':
      if (!top) {
        ++at_;
        return pop();
      }
      break;
    case '/':
      return fail("unexpected '/' where a key should start");
    case '\0':
      return end_of_text(at_ == end_);
    default:
      break;
  }
  push(top ? State::TopValueEnd : State::BlockValueEnd);
  state_ = State::KeyStart;
}

void Lexer::step_top_value_end() {
  if (comment(State::Top)) {
    return;
  }
  const char c = *at_;
  if (is_blank(c) || c == '/') {
    ++at_;
  } else if (is_line_end(c) || c == '\0' || c == ';' || c == ',' || c == '}') {
    at_ += at_ < end_ ? 1 : 0;
    state_ = State::Top;
  } else {
    fail(fmt::format("expected the end of the line after a value, found {}", named(at_, end_)));
  }
}

void Lexer::step_block_value_end() {
  if (comment(State::BlockValueEnd)) {
    return;
  }
  const char c = *at_;
  if (is_blank(c) || c == '/') {
    ++at_;
  } else if (is_line_end(c) || c == ';' || c == ',') {
    ++at_;
    state_ = State::BlockStart;
  } else if (c == '}') {
    state_ = State::BlockEnd;
  } else {
    fail(fmt::format("expected the end of the line or '}}' after a value, found {}",
                     named(at_, end_)));
  }
}

void Lexer::step_block_end() {
  if (comment(State::BlockStart)) {
    return;
  }
  const char c = *at_;
  if (is_blank(c) || is_line_end(c) || c == '/') {
    ++at_;
  } else if (c == ';' || c == ',') {
    ++at_;
    state_ = State::BlockStart;
  } else if (c == '}') {
    ++at_;
    pop();
  } else {
    fail(fmt::format("expected '}}', found {}", named(at_, end_)));
  }
}

void Lexer::step_key_start() {
  item_start_ = start_ = at_;
  if (is_separator(*at_)) {
    return fail(fmt::format("expected a key, found {}", named(at_, end_)));
  }
  if (*at_ == '"' || *at_ == '\'') {
    return quoted_key(*at_);
  }
  at_ += character_width(at_);
  plain_key();
}

void Lexer::quoted_key(char quote) {
  start_ = ++at_;
  while (*at_ != quote && *at_ != '\0') {
    ++at_;
  }
  if (*at_ == '\0') {
    return end_of_text(at_ == start_);
  }
  emit_here(ItemKind::Key);
  ++at_;
  state_ = State::KeyEnd;
}

void Lexer::plain_key() {
  for (;; ++at_) {
    if (!kNotInKey[static_cast<unsigned char>(*at_)]) {
      continue;
    }
    if (*at_ == '\0' || is_separator(*at_)) {
      break;
    }
    if (space_width(at_) != 0) {
      if (is_include({start_, static_cast<std::size_t>(at_ - start_)})) {
        return include_value();
      }
      break;
    }
  }
  emit_here(ItemKind::Key);
  state_ = State::KeyEnd;
}

void Lexer::step_key_end() {
  skip_spaces();
  if (*at_ == '\0') {
    return end_of_text(true);
  }
  at_ += is_separator(*at_) ? 1 : 0;
  state_ = State::Value;
}

void Lexer::step_array_value() {
  skip_spaces();
  if (comment(State::ArrayValue)) {
    return;
  }
  item_start_ = at_;
  if (*at_ == ',' || *at_ == '/') {
    return fail(fmt::format("expected a value of an array, found {}", named(at_, end_)));
  }
  if (*at_ == ']') {
    ++at_;
    emit(ItemKind::ArrayEnd, {});
    return pop();
  }
  push(State::ArrayValueEnd);
  state_ = State::Value;
}

void Lexer::step_array_value_end() {
  skip_blanks();
  if (comment(State::ArrayValueEnd)) {
    return;
  }
  item_start_ = at_;
  const char c = *at_;
  if (c == ',' || c == '/' || is_line_end(c)) {
    ++at_;
    state_ = State::ArrayValue;
  } else if (c == ']') {
    ++at_;
    emit(ItemKind::ArrayEnd, {});
    pop();
  } else {
    fail(fmt::format("expected ',' or ']' after a value of an array, found {}", named(at_, end_)));
  }
}

void Lexer::step_map_key_start() {
  skip_spaces();
  if (comment(State::MapKeyStart)) {
    return;
  }
  item_start_ = at_;
  const char c = *at_;
  if (is_separator(c) || c == ']' || c == '\0') {
    return fail(fmt::format("expected a key or '}}', found {}", named(at_, end_)));
  }
  if (c == '}') {
    ++at_;
    emit(ItemKind::MapEnd, {});
    return pop();
  }
  if (c == '"' || c == '\'') {
    return quoted_map_key(c);
  }
  at_ += c == '/' ? 1 : 0;  // one that starts no comment is skipped
  item_start_ = start_ = at_;
  at_ += at_ < end_ ? character_width(at_) : 0;
  plain_map_key();
}

void Lexer::quoted_map_key(char quote) {
  start_ = ++at_;
  while (*at_ != quote && *at_ != '\0') {
    ++at_;
  }
  if (*at_ == '\0') {
    return fail("unexpected end of the text in a key");
  }
  emit_here(ItemKind::Key);
  ++at_;
  state_ = State::MapKeyEnd;
}

void Lexer::plain_map_key() {
  for (;; ++at_) {
    if (!kNotInKey[static_cast<unsigned char>(*at_)]) {
      continue;
    }
    if (*at_ == '\0') {
      return fail("unexpected end of the text in a key");
    }
    if (is_separator(*at_)) {
      break;
    }
    if (space_width(at_) != 0) {
      if (is_include({start_, static_cast<std::size_t>(at_ - start_)})) {
        push(State::MapValueEnd);
        return include_value();
      }
      break;
    }
  }
  emit_here(ItemKind::Key);
  state_ = State::MapKeyEnd;
}

void Lexer::step_map_key_end() {
  skip_spaces();
  at_ += is_separator(*at_) ? 1 : 0;
  state_ = State::MapValue;
}

void Lexer::step_map_value() {
  skip_spaces();
  item_start_ = at_;
  if (*at_ == ',') {
    return fail("expected a value, found ','");
  }
  if (*at_ == '}') {
    ++at_;
    emit(ItemKind::MapEnd, {});
    return pop();
  }
  push(State::MapValueEnd);
  state_ = State::Value;
}

void Lexer::step_map_value_end() {
  skip_blanks();
  if (comment(State::MapValueEnd)) {
    return;
  }
  item_start_ = at_;
  const char c = *at_;
  if (c == ';' || c == ',' || c == '/' || is_line_end(c)) {
    ++at_;
    state_ = State::MapKeyStart;
  } else if (c == '}') {
    ++at_;
    emit(ItemKind::MapEnd, {});
    pop();
  } else {
    fail(fmt::format("expected ',' or '}}' after a value of a map, found {}", named(at_, end_)));
  }
}

void Lexer::skip_spaces() {
  for (std::size_t width = space_width(at_); width != 0; width = space_width(at_)) {
    at_ += width;
  }
}

void Lexer::skip_blanks() {
  while (is_blank(*at_)) {
    ++at_;
  }
}

/// Skips a comment that starts here, up to the end of its line.
bool Lexer::comment(State afterwards) {
  if (*at_ != '#' && (*at_ != '/' || at_[1] != '/')) {
    return false;
  }
  while (!is_line_end(*at_) && *at_ != '\0') {
    ++at_;
  }
  state_ = afterwards;
  return true;
}

void Lexer::end_of_text(bool clean) {
  if (!clean) {
    return fail(at_ < end_ ? "unexpected NUL byte" : "unexpected end of the text");
  }
  item_start_ = at_;
  emit(ItemKind::End, {});
}

void Lexer::emit(ItemKind kind, std::string_view text) {
  item_ = {kind, text, static_cast<std::size_t>(item_start_ - begin_)};
  emitted_ = true;
}

void Lexer::pop() {
  if (stack_.empty()) {
    return fail("unexpected '}'");
  }
  state_ = stack_.back();
  stack_.pop_back();
}

void Lexer::fail(std::string message) {
  message_ = std::move(message);
  state_ = State::Failed;
}

}  // namespace mesh::natsconf
