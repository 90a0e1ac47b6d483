#pragma once

#include <cstddef>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

#include "natsconf/dialect.h"

namespace mesh::natsconf {

enum class ItemKind {
  End,
  Key,
  String,
  Bool,
  Integer,
  Float,
  Datetime,
  ArrayStart,
  ArrayEnd,
  MapStart,
  MapEnd,
  Variable,  // its text is the name without `$`
  Include,   // its text is the path
};

/// A word of the grammar. `text` points into the text that is read, or (with escapes in it) into
/// the memory that the lexer was given; `offset` is where it starts in the text.
struct Item {
  ItemKind kind = ItemKind::End;
  std::string_view text;
  std::size_t offset = 0;
};

/// Cuts a text into items. The states are those of nats-server's own reader, because what a text
/// means depends on them in corners that no grammar would invent: a lone `/` after a value is
/// skipped, a NUL byte ends what the end of the file ends, `[1]` is an array of the string `1]`
/// that never closes.
class Lexer {
 public:
  /// `text` must be followed by a NUL byte in memory, as a std::string's is.
  Lexer(std::string_view text, Dialect dialect, std::pmr::memory_resource& memory);

  /// The next item. False where the text is refused: see `message` and `offset`.
  [[nodiscard]] bool next(Item& item);
  [[nodiscard]] const std::string& message() const { return message_; }
  [[nodiscard]] std::size_t offset() const;

 private:
  enum class State : unsigned char {
    Top,
    TopValueEnd,
    BlockStart,
    BlockValueEnd,
    BlockEnd,
    KeyStart,
    KeyEnd,
    Value,
    ArrayValue,
    ArrayValueEnd,
    MapKeyStart,
    MapKeyEnd,
    MapValue,
    MapValueEnd,
    Failed,
  };
  /// What a closing brace does where keys stand, and whether keys stand in a block.
  enum class Keys { Top, Block };

  // Each step takes some of the text, gives an item or not, and sets the next state.
  void step();
  void step_keys(Keys where);
  void step_top_value_end();
  void step_block_value_end();
  void step_block_end();
  void step_key_start();
  void step_key_end();
  void step_value();
  void step_array_value();
  void step_array_value_end();
  void step_map_key_start();
  void step_map_key_end();
  void step_map_value();
  void step_map_value_end();

  void quoted_key(char quote);
  void quoted_map_key(char quote);
  void plain_key();
  void plain_map_key();
  void include_value();
  void quoted_include(char quote);
  void plain_include();

  void quoted_string();
  void escaped_string();
  void plain_string();
  void finish_plain_string();
  bool escape();
  void block();
  void number();
  void negative_number();
  void suffixed_number();
  void fraction();
  void address();
  void datetime();

  void skip_spaces();
  void skip_blanks();
  bool comment(State afterwards);
  void end_of_text(bool clean);
  void emit(ItemKind kind, std::string_view text);
  void emit_here(ItemKind kind) { emit(kind, {start_, static_cast<std::size_t>(at_ - start_)}); }
  void emit_string();
  void push(State state) { stack_.push_back(state); }
  void pop();
  void fail(std::string message);
  [[nodiscard]] static bool is_terminator(char c);

  const char* begin_;
  const char* end_;
  const char* at_;
  const char* start_;       // of the text of the item that is being read
  const char* item_start_;  // of the item itself, quotes and `$` included
  State state_ = State::Top;
  Dialect dialect_;
  bool emitted_ = false;
  bool escaped_ = false;
  Item item_;
  std::vector<State> stack_;
  std::string parts_;  // what was read of a string with escapes
  std::pmr::memory_resource& memory_;
  std::string message_;
};

}  // namespace mesh::natsconf
