#pragma once

#include <deque>
#include <memory>
#include <memory_resource>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "natsconf/document.h"
#include "natsconf/lexer.h"

namespace mesh::natsconf {

/// What a Document owns.
struct Document::Storage {
  std::pmr::monotonic_buffer_resource memory;             // maps, arrays, strings with escapes
  std::deque<std::string> texts;                          // deque: the strings must not move
  std::vector<std::shared_ptr<const std::string>> names;  // of the texts
  Value root;
};

/// Makes values of one text's items, as the server's own parser does: keys and values are matched
/// by a stack, so that a key without a value (`a { b }`) gives its value to the key before it.
class Builder {
 public:
  /// What all texts of one document share.
  struct Shared {
    Document::Storage& storage;
    const Reading& reading;
    std::set<std::string, std::less<>> variables_in_reading;  // of the environment
  };

  /// `depth` counts the texts that led to this one.
  Builder(Shared& shared, std::string name, std::string text, int depth);

  /// The text's map.
  [[nodiscard]] Result<Value> build();

  /// A whole document.
  [[nodiscard]] static Result<Document> document(std::string text, const Reading& reading);

 private:
  struct Key {
    std::string_view text;
    Position at;
  };
  /// An open map or array: its children so far are the last ones of `entries_` or `items_`.
  struct Context {
    bool is_map = true;
    std::size_t first = 0;
    Position at;
    std::uint64_t values = 1;
    std::uint16_t depth = 0;
    std::size_t indexed = 0;  // how many entries `index` knows
    std::unique_ptr<std::unordered_map<std::string_view, std::size_t>> index;
  };

  [[nodiscard]] Status take(const Item& item);
  [[nodiscard]] Status take_integer(const Item& item);
  [[nodiscard]] Status take_float(const Item& item);
  [[nodiscard]] Status take_datetime(const Item& item);
  [[nodiscard]] Status take_variable(const Item& item);
  [[nodiscard]] Status take_include(const Item& item);
  [[nodiscard]] Status set(const Value& value);
  void open(bool is_map, Position at);
  [[nodiscard]] Status close();
  [[nodiscard]] Value closed(const Context& context);

  [[nodiscard]] Entry* find_variable(std::string_view name);
  [[nodiscard]] Entry* find_in(Context& context, std::size_t end, std::string_view name);
  [[nodiscard]] Result<Value> environment_variable(std::string_view name, Position at);

  [[nodiscard]] Value word(Type type, const Item& item) const;
  [[nodiscard]] Position position(std::size_t offset);
  [[nodiscard]] std::unexpected<Error> refuse(std::size_t offset, std::string message,
                                              std::string hint = {});

  Shared& shared_;
  std::string_view text_;
  std::uint32_t source_;
  int depth_;
  Lexer lexer_;
  std::vector<Context> contexts_;
  std::vector<Key> keys_;
  std::vector<Entry> entries_;
  std::vector<Value> items_;
  // Where `position` was last.
  std::size_t counted_ = 0;
  std::size_t line_start_ = 0;
  std::uint32_t line_ = 1;
  Position item_at_;
};

}  // namespace mesh::natsconf
