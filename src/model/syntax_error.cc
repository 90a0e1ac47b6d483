#include "model/syntax_error.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"

namespace mesh::model {

namespace {

constexpr std::string_view kRedefined = "cannot redefine existing ";

std::string_view line_text(std::string_view bytes, int line) {
  for (int i = 1; i < line; ++i) {
    const auto end = bytes.find('\n');
    if (end == std::string_view::npos) {
      return {};
    }
    bytes.remove_prefix(end + 1);
  }
  return bytes.substr(0, bytes.find('\n'));
}

/// The library points at the value of a key that is there twice; the key itself is meant.
int key_column(std::string_view line, int column) {
  const auto before = line.substr(0, static_cast<std::size_t>(column - 1));
  const auto equals = before.rfind('=');
  if (equals == std::string_view::npos) {
    return column;
  }
  const auto open = before.substr(0, equals).find_last_of("{,") + 1;  // npos + 1 is 0
  const auto first = before.find_first_not_of(" \t", open);
  return static_cast<int>(std::min(first, equals)) + 1;
}

SyntaxError redefined(std::string_view what, std::string_view bytes, Place place) {
  const auto open = what.find('\'');
  const auto close = what.find('\'', open == std::string_view::npos ? open : open + 1);
  const auto key = close == std::string_view::npos ? what : what.substr(open + 1, close - open - 1);
  place.column = key_column(line_text(bytes, place.line), place.column);
  return {std::move(place), "duplicate-key", fmt::format("\"{}\" is defined twice", printable(key)),
          "keep one of the two"};
}

struct Known {
  std::string_view part;  // of the library's text
  std::string_view message;
  std::string_view hint;
};

constexpr std::array kKnown = {
    Known{"could not determine value type", "this is not a value",
          "text needs quotes, as in \"one\""},
    Known{"control characters other than TAB", "the text has no closing quote on its line",
          "text of several lines stands between \"\"\" and \"\"\""},
    Known{"expected value, saw", "a value is missing", ""},
    Known{"expected '=', saw", "after a key, = and a value are expected", ""},
    Known{"expected a comment or whitespace", "something follows the value on its line",
          "one key a line; text with quotes inside needs '…' or \\\""},
    Known{"expected comma or closing ']'",
          "a list needs a comma between its items, or its closing ]", ""},
    Known{"expected comma or closing '}'",
          "a table in braces needs a comma between its keys, or its closing }", ""},
    Known{"expected key or closing '}'", "a table in braces ends on its line and has no last comma",
          "write it as a [table] of its own, or on one line"},
    Known{"expected ']', saw", "a table's header needs its closing ]",
          "a name with other characters than a-z, 0-9 and - needs quotes"},
    Known{"encountered end-of-file", "the file ends in the middle of this", ""},
    Known{"leading zeroes are prohibited", "a number has no leading zeroes", ""},
    Known{"unknown escape sequence", "this escape after \\ is not known to TOML",
          "text with backslashes stands between ' and '"},
};

}  // namespace

SyntaxError explain_syntax(std::string_view description, std::string_view bytes, Place place) {
  const auto preamble = description.find(": ");
  const auto what =
      description.starts_with("Error while parsing") && preamble != std::string_view::npos
          ? description.substr(preamble + 2)
          : description;
  if (what.starts_with(kRedefined)) {
    return redefined(what.substr(kRedefined.size()), bytes, std::move(place));
  }
  for (const auto& known : kKnown) {
    if (what.find(known.part) != std::string_view::npos) {
      return {std::move(place), "syntax", std::string(known.message), std::string(known.hint)};
    }
  }
  return {std::move(place), "syntax", printable(what), ""};
}

}  // namespace mesh::model
