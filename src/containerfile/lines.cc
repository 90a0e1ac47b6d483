#include "containerfile/lines.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include <fmt/format.h>

namespace mesh::containerfile {

namespace {

std::string_view without_line_ending(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) {
    line.remove_suffix(1);
  }
  return line;
}

std::size_t leading_blanks(std::string_view line) {
  return static_cast<std::size_t>(std::ranges::find_if_not(line, is_blank) - line.begin());
}

bool is_comment(std::string_view line) {
  const auto blanks = leading_blanks(line);
  return blanks < line.size() && line[blanks] == '#';
}

/// Takes the continuation from the end of `line`: an escape character that is last but for blanks,
/// and not itself behind another.
bool take_continuation(std::string_view& line, char escape) {
  auto rest = line;
  while (!rest.empty() && (rest.back() == ' ' || rest.back() == '\t')) {
    rest.remove_suffix(1);
  }
  if (rest.empty() || rest.back() != escape) {
    return false;
  }
  rest.remove_suffix(1);
  if (!rest.empty() && rest.back() == escape) {
    return false;
  }
  line = rest;
  return true;
}

/// `name = value` behind a `#`, or an empty name.
Directive read_directive(std::string_view comment) {
  const auto equals = comment.find('=');
  if (equals == std::string_view::npos) {
    return {};
  }
  auto name = ascii_lower(trimmed(comment.substr(0, equals)));
  const auto value = trimmed(comment.substr(equals + 1));
  constexpr std::array<std::string_view, 3> kKnown{"syntax", "escape", "check"};
  if (value.empty() || std::ranges::find(kKnown, name) == kKnown.end()) {
    return {};
  }
  return {std::move(name), std::string(value), {}};
}

}  // namespace

bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

std::string ascii_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

std::string ascii_upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(leading_blanks(text));
  while (!text.empty() && is_blank(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

Spot LogicalLine::spot(std::size_t offset) const {
  const auto after = std::ranges::upper_bound(pieces, offset, {}, &Piece::offset);
  if (after == pieces.begin()) {
    return {first, 1};
  }
  const auto& piece = *std::prev(after);
  return {piece.spot.line, piece.spot.column + static_cast<int>(offset - piece.offset)};
}

Lines::Lines(std::string_view text) : text_(text) {
  if (text_.starts_with("\xEF\xBB\xBF")) {
    text_.remove_prefix(3);
  }
}

bool Lines::next_raw(std::string_view& line) {
  if (at_ >= text_.size()) {
    return false;
  }
  const auto end = text_.find('\n', at_);
  const auto next = end == std::string_view::npos ? text_.size() : end + 1;
  line = text_.substr(at_, next - at_);
  at_ = next;
  ++number_;
  return true;
}

bool Lines::directive(std::string_view line, Spot spot, File& file) {
  if (directives_done_ || !line.starts_with('#')) {
    directives_done_ = true;
    return false;
  }
  auto found = read_directive(line.substr(1));
  if (found.name.empty()) {
    directives_done_ = true;
    return false;
  }
  found.spot = spot;
  if (std::ranges::find(file.directives, found.name, &Directive::name) != file.directives.end()) {
    file.problems.push_back({true, "directive-twice",
                             fmt::format("the parser directive `{}` is given twice", found.name),
                             "keep one of them", spot});
  } else if (found.name == "escape" && found.value != "\\" && found.value != "`") {
    file.problems.push_back({true, "bad-escape", "the escape character is neither \\ nor `",
                             "write `# escape=\\` or `# escape=``", spot});
  } else if (found.name == "escape") {
    file.escape = found.value.front();
  }
  file.directives.push_back(std::move(found));
  return true;
}

bool Lines::next(LogicalLine& line, File& file) {
  line = {};
  std::string_view raw;
  bool more = false;
  while (next_raw(raw)) {
    auto text = without_line_ending(raw);
    const auto blanks = line.first == 0 ? leading_blanks(text) : 0;
    text.remove_prefix(blanks);
    const Spot spot{number_, static_cast<int>(blanks) + 1};
    if (line.first == 0) {
      (void)directive(text, spot, file);
      if (text.empty() || text.front() == '#') {
        continue;
      }
      line.first = number_;
    } else if (is_comment(text)) {
      continue;
    } else if (leading_blanks(text) == text.size()) {
      line.empty_inside = true;
      continue;
    }
    more = take_continuation(text, file.escape);
    line.pieces.push_back({line.text.size(), spot});
    line.text += text;
    line.last = number_;
    if (!more) {
      break;
    }
  }
  return line.first != 0;
}

}  // namespace mesh::containerfile
