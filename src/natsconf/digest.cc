#include "natsconf/digest.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "base/digest.h"
#include "natsconf/characters.h"

namespace mesh::natsconf {
namespace {

void append_byte(std::string& out, char c) {
  constexpr std::string_view kShort = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  if (const std::size_t i = kShort.find(c); i != std::string_view::npos) {
    out += '\\';
    out += kLetters[i];
  } else if (static_cast<unsigned char>(c) < 0x20 || c == '<' || c == '>' || c == '&') {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
  } else {
    out += c;
  }
}

void append_text(std::string& out, std::string_view text) {
  const std::string padded(text);  // characters are read from a text that ends with NUL
  out += '"';
  for (std::size_t i = 0; i < padded.size();) {
    const std::size_t width = character_width(padded.data() + i);
    const std::string_view character(padded.data() + i, width);
    if (static_cast<unsigned char>(padded[i]) < 0x80) {
      append_byte(out, padded[i]);
    } else if (width == 1) {
      out += "\xef\xbf\xbd";
    } else if (character == "\xe2\x80\xa8" || character == "\xe2\x80\xa9") {
      out += character.back() == '\xa8' ? "\\u2028" : "\\u2029";
    } else {
      out += character;
    }
    i += width;
  }
  out += '"';
}

/// As Go writes a float64: shortest digits, an exponent only far from 1 and without leading zeros.
void append_real(std::string& out, double value) {
  const double size = std::fabs(value);
  const bool exponent = size != 0 && (size < 1e-6 || size >= 1e21);
  std::array<char, 512> buffer{};
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                    exponent ? std::chars_format::scientific : std::chars_format::fixed);
  std::string text(buffer.data(), end);
  if (const std::size_t e = text.find("e-0"); e != std::string::npos) {
    text.erase(e + 2, 1);
  }
  out += text;
}

void append_datetime(std::string& out, std::int64_t seconds) {
  const std::chrono::sys_seconds time{std::chrono::seconds{seconds}};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  fmt::format_to(std::back_inserter(out), "\"{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z\"",
                 static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                 static_cast<unsigned>(date.day()), clock.hours().count(), clock.minutes().count(),
                 clock.seconds().count());
}

void append_json(std::string& out, const Value& value);  // NOLINT(misc-no-recursion)

void append_map(std::string& out, const Value& map) {
  std::vector<const Entry*> entries;
  entries.reserve(map.entries().size());
  for (const Entry& entry : map.entries()) {
    entries.push_back(&entry);
  }
  // By key; of equal keys by where they stand, so that the last is the one that counts.
  std::ranges::sort(entries, [](const Entry* a, const Entry* b) {
    return a->key != b->key ? a->key < b->key : a < b;
  });
  out += '{';
  bool first = true;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i + 1 < entries.size() && entries[i + 1]->key == entries[i]->key) {
      continue;
    }
    if (!first) {
      out += ',';
    }
    first = false;
    append_text(out, entries[i]->key);
    out += ':';
    append_json(out, entries[i]->value);
  }
  out += '}';
}

void append_array(std::string& out, const Value& array) {
  out += '[';
  for (const Value& item : array.items()) {
    if (&item != &array.items().front()) {
      out += ',';
    }
    append_json(out, item);
  }
  out += ']';
}

void append_json(std::string& out, const Value& value) {
  switch (value.type()) {
    case Type::Map:
      return append_map(out, value);
    case Type::Array:
      return append_array(out, value);
    case Type::String:
      return append_text(out, value.text());
    case Type::Integer:
      out += fmt::format_int(value.integer()).c_str();
      return;
    case Type::Float:
      return append_real(out, value.real());
    case Type::Bool:
      out += value.boolean() ? "true" : "false";
      return;
    case Type::Datetime:
      return append_datetime(out, value.seconds());
  }
}

}  // namespace

std::string to_json(const Value& value) {
  std::string out;
  append_json(out, value);
  return out;
}

std::string config_digest(const Document& document) {
  return "sha256:" + sha256_hex(to_json(document.root()) + "\n");
}

}  // namespace mesh::natsconf
