#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "natsconf/writer.h"

namespace mesh::broker {

/// Text that grows line by line, each at its depth.
class Lines {
 public:
  explicit Lines(std::size_t expected) { text_.reserve(expected); }

  /// `key: "value"`
  void text(std::string_view key, std::string_view value) {
    start(key);
    natsconf::append_quoted(text_, value);
    text_ += '\n';
  }
  /// `key: value`, for numbers and booleans.
  void bare(std::string_view key, std::string_view value) {
    start(key);
    text_.append(value);
    text_ += '\n';
  }
  /// `"item"`
  void item(std::string_view value) {
    indent();
    natsconf::append_quoted(text_, value);
    text_ += '\n';
  }
  void open(std::string_view key, char bracket = '{') {
    start(key);
    enter(bracket);
  }
  void open_quoted(std::string_view key) {
    indent();
    natsconf::append_quoted(text_, key);
    text_ += ": ";
    enter('{');
  }
  void open_item() {
    indent();
    enter('{');
  }
  void close(char bracket = '}') {
    --depth_;
    indent();
    text_ += bracket;
    text_ += '\n';
  }
  void comment(std::string_view line) {
    text_ += "# ";
    text_.append(line);
    text_ += '\n';
  }
  void blank() { text_ += '\n'; }
  /// Starts an entry that stays on one line; what follows is appended to the result.
  std::string& line() {
    indent();
    return text_;
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  void indent() { text_.append(2 * depth_, ' '); }
  void start(std::string_view key) {
    indent();
    text_.append(key);
    text_ += ": ";
  }
  void enter(char bracket) {
    text_ += bracket;
    text_ += '\n';
    ++depth_;
  }

  std::string text_;
  std::size_t depth_ = 0;
};

}  // namespace mesh::broker
