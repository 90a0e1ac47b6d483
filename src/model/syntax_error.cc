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
  place.column = key_column(line_text(bytes, place.line), place.column);
  if (close == std::string_view::npos) {  // "table as dotted key-value pair": it names none
    return {std::move(place), "duplicate-key", "this adds to a table that is complete already",
            "keep all keys of a table in one place"};
  }
  const auto key = what.substr(open + 1, close - open - 1);
  return {std::move(place), "duplicate-key", fmt::format("\"{}\" is defined twice", printable(key)),
          "keep one of the two"};
}

constexpr std::string_view kNoNumber = "this is not a number";
constexpr std::string_view kNumberHint =
    "as 10 or 1.5; sizes, durations and addresses need quotes, as in \"64MiB\"";
constexpr std::string_view kNoTime = "this is not a date or a time";
constexpr std::string_view kTimeHint = "text needs quotes, as in \"127.0.0.1:4222\"";
constexpr std::string_view kNoCharacter = "this escape names no character";
constexpr std::string_view kNoCharacterHint =
    "as \\u00E9, with 4 hexadecimal digits, or \\U and 8 of them";
constexpr std::string_view kNoValue = "this is not a value";
constexpr std::string_view kQuotes = "text needs quotes, as in \"one\"";
constexpr std::string_view kBackslash = "text with backslashes stands between ' and '";
constexpr std::string_view kNoKey = "a key is expected here";
constexpr std::string_view kKeyHint =
    "a key with other characters than a-z, A-Z, 0-9, - and _ needs quotes";
constexpr std::string_view kComma = "a comma too many";
constexpr std::string_view kBraces = "a table in braces ends on its line and has no last comma";
constexpr std::string_view kBracesHint = "write it as a [table] of its own, or on one line";

/// The first that fits is taken.
struct Known {
  std::string_view scope;  // what the library was reading, or the end of it; empty: anything
  std::string_view part;   // of the library's text
  std::string_view message;
  std::string_view hint;
};

constexpr std::array kKnown = {
    Known{"", "is not representable in 64 bits", "this number is too large", ""},
    Known{"", "leading zeroes are prohibited", "a number has no leading zeroes", ""},
    Known{"", "values may not begin with underscores", kNoValue, kQuotes},
    Known{"", "underscores ", "an _ in a number stands between two digits", ""},
    Known{"comment", "control characters", "this comment has a control character", "remove it"},
    Known{"unicode scalar sequence", "", kNoCharacter, kNoCharacterHint},
    Known{"boolean", "", kNoValue, "true and false are in lower case; text needs quotes"},
    Known{"integer", "", kNoNumber, kNumberHint},
    Known{"floating-point", "", kNoNumber, kNumberHint},
    Known{"date", "", kNoTime, kTimeHint},
    Known{"date-time", "", kNoTime, kTimeHint},
    Known{"time", "", kNoTime, kTimeHint},
    Known{"date-time offset", "", kNoTime, kTimeHint},
    Known{"", "numeric value too long", kNoNumber, kNumberHint},
    Known{"", "could not determine value type", kNoValue, kQuotes},
    Known{"", "unexpected control character", "a control character stands in a value's place",
          "remove it"},
    Known{"", "control characters other than TAB", "the text has no closing quote on its line",
          "text of several lines stands between \"\"\" and \"\"\""},
    Known{"", "expected value, saw", "a value is missing", ""},
    Known{"", "expected '=', saw", "after a key, = and a value are expected", ""},
    Known{"", "expected space or tab", "this space is none that TOML knows",
          "put an ordinary space in its place; it may have come with copied text"},
    Known{"", "expected a comment or whitespace", "something follows the value on its line",
          "one key a line; text with quotes inside needs '…' or \\\""},
    Known{"", "expected value or closing ']', saw comma", kComma, ""},
    Known{"", "expected key-value pair or closing '}', saw comma", kComma, ""},
    Known{"", "expected comma or closing ']'",
          "a list needs a comma between its items, or its closing ]", ""},
    Known{"", "expected comma or closing '}'",
          "a table in braces needs a comma between its keys, or its closing }", ""},
    Known{"", "expected key or closing '}'", kBraces, kBracesHint},
    Known{"", "dangling comma", kBraces, kBracesHint},
    Known{"", "expected ']', saw", "a table's header needs its closing ]",
          "a name with other characters than a-z, 0-9 and - needs quotes"},
    Known{"", "blank bare keys", "a table's header needs a name", "as [nodes.one]"},
    Known{"", "expected bare key starting character", kNoKey, kKeyHint},
    Known{"", "expected keys, tables", kNoKey, kKeyHint},
    Known{"", "into existing inline table", "this adds to a table in braces, which is complete",
          "write all its keys in one place"},
    Known{"string", "encountered end-of-file", "the text has no closing quote", ""},
    Known{"", "encountered end-of-file", "the file ends in the middle of this", ""},
    Known{"", "unknown escape sequence", "this escape after \\ is not known to TOML", kBackslash},
    Known{"", "escape sequence '", "this escape after \\ is not known to TOML", kBackslash},
};

/// The library's text, taken apart: what it was reading, and what was wrong with it.
struct Complaint {
  std::string_view scope;
  std::string_view what;
};

Complaint take_apart(std::string_view description) {
  constexpr std::string_view kPreamble = "Error while parsing ";
  const auto end = description.find(": ");
  if (!description.starts_with(kPreamble) || end == std::string_view::npos) {
    return {"", description};
  }
  return {description.substr(kPreamble.size(), end - kPreamble.size()),
          description.substr(end + 2)};
}

bool fits(const Known& known, const Complaint& complaint) {
  const bool scope = known.scope.empty() || complaint.scope == known.scope ||
                     complaint.scope.ends_with(" " + std::string(known.scope));
  return scope && complaint.what.find(known.part) != std::string_view::npos;
}

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\r') || c == '\x7F';
}

}  // namespace

SyntaxError explain_syntax(std::string_view description, std::string_view bytes, Place place) {
  const auto complaint = take_apart(description);
  if (complaint.what.starts_with(kRedefined)) {
    return redefined(complaint.what.substr(kRedefined.size()), bytes, std::move(place));
  }
  if (complaint.what.find("nested value depth") != std::string_view::npos) {
    return {std::move(place), "too-deep", "lists and tables in braces are nested too deeply here",
            "nothing that mesh reads is nested more than a few levels; is a bracket not closed?"};
  }
  if (complaint.scope != "comment" &&
      complaint.what.find("control characters") != std::string_view::npos &&
      std::ranges::any_of(line_text(bytes, place.line), is_control)) {
    return {std::move(place), "syntax", "this text has a control character",
            "remove it, or write it as an escape, as \\u001B"};
  }
  for (const auto& known : kKnown) {
    if (fits(known, complaint)) {
      return {std::move(place), "syntax", std::string(known.message), std::string(known.hint)};
    }
  }
  return {std::move(place), "syntax", printable(complaint.what),
          "toml.io says how TOML is written"};
}

}  // namespace mesh::model
