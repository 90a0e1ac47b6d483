#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "containerfile/file.h"

namespace mesh::containerfile {

/// An instruction put together from its lines: continuations joined, comments and empty lines
/// between them left out.
struct LogicalLine {
  std::string text{};
  int first = 0;
  int last = 0;
  bool empty_inside = false;  // an empty line stands among its continuations

  /// Where the character at `offset` of `text` stands in the file.
  [[nodiscard]] Spot spot(std::size_t offset) const;

  struct Piece {
    std::size_t offset = 0;
    Spot spot{};
  };
  std::vector<Piece> pieces{};
};

/// Hands out a file's lines: instructions, and the raw lines of here-documents.
class Lines {
 public:
  explicit Lines(std::string_view text);

  /// The next instruction, or false at the end of the file. Parser directives that stand before
  /// the first one go to `file`, as do problems with them.
  [[nodiscard]] bool next(LogicalLine& line, File& file);

  /// The next line with its line ending, or false at the end.
  [[nodiscard]] bool next_raw(std::string_view& line);

  /// The number of the line that was read last.
  [[nodiscard]] int number() const { return number_; }

 private:
  bool directive(std::string_view line, Spot spot, File& file);

  std::string_view text_;
  std::size_t at_ = 0;
  int number_ = 0;
  bool directives_done_ = false;
};

/// `text` without blanks (space, tab, \r, \n, \v, \f) at its ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);

/// Whether `c` is a blank that parts words.
[[nodiscard]] bool is_blank(char c);

/// `text` with the letters a to z, or A to Z, in the other case.
[[nodiscard]] std::string ascii_lower(std::string_view text);
[[nodiscard]] std::string ascii_upper(std::string_view text);

}  // namespace mesh::containerfile
