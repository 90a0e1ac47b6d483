#include "model/bytes.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "model/read.h"
#include "model/report.h"

namespace mesh::model {

namespace {

Place line_of(std::string_view bytes, std::size_t offset, const Source& source) {
  const auto before = bytes.substr(0, offset);
  const auto line = std::ranges::count(before, '\n') + 1;
  const auto start = before.rfind('\n') + 1;  // npos + 1 is 0
  return {source.file, static_cast<int>(line), static_cast<int>(offset - start) + 1};
}

/// A column counts characters, and only what stands before it is known to be any.
Place character_of(std::string_view bytes, std::size_t offset, const Source& source) {
  auto place = line_of(bytes, offset, source);
  const auto start = offset - static_cast<std::size_t>(place.column - 1);
  place.column =
      1 + static_cast<int>(std::ranges::count_if(bytes.substr(start, offset - start), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
      }));
  return place;
}

bool is_ascii(std::string_view bytes) {
  return std::ranges::all_of(bytes, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool check_utf8(std::string_view bytes, const Source& source) {
  if (is_ascii(bytes) || is_utf8(bytes)) {
    return true;
  }
  const bool utf16 = bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF");
  source.report.error(character_of(bytes, utf16 ? 0 : utf8_prefix(bytes), source), "not-utf8",
                      utf16 ? "the file is UTF-16, TOML is UTF-8" : "from here it is no UTF-8 text",
                      "save the file as UTF-8");
  return false;
}

bool check_nul(std::string_view bytes, const Source& source) {
  const auto at = bytes.find('\0');
  if (at == std::string_view::npos) {
    return true;
  }
  source.report.error(line_of(bytes, at, source), "nul-byte", "the file has a NUL byte here",
                      "it is not a text file, or damaged");
  return false;
}

/// A carriage return alone ends no line in TOML, and stands in no text or comment either.
bool check_carriage_returns(std::string_view bytes, const Source& source) {
  for (auto at = bytes.find('\r'); at != std::string_view::npos; at = bytes.find('\r', at + 1)) {
    if (!bytes.substr(at + 1).starts_with('\n')) {
      source.report.error(line_of(bytes, at, source), "carriage-return",
                          "the file has a carriage return here that no line feed follows",
                          "save the file with LF or CRLF at the end of each line");
      return false;
    }
  }
  return true;
}

/// Follows TOML's strings and comments just far enough to see which dots join keys. Whatever the
/// library accepts up to its first error is followed in the same way here.
class DotCounter {
 public:
  explicit DotCounter(std::string_view bytes) : bytes_(bytes) {}

  /// The offset of the first dot too many, or npos.
  std::size_t find() {
    for (; at_ < bytes_.size(); ++at_) {
      const char c = bytes_[at_];
      if (c == '"' || c == '\'') {
        skip_string(c);
      } else if (c == '#') {
        at_ = std::min(bytes_.find('\n', at_), bytes_.size()) - 1;
      } else if (c == '.') {
        if (++dots_ >= kMostKeyParts) {
          return at_;
        }
      } else if (std::string_view("\n=[]{},").find(c) != std::string_view::npos) {
        dots_ = 0;
      }
    }
    return std::string_view::npos;
  }

 private:
  /// From an opening quote to its closing one, or to the end of what can be a string.
  void skip_string(char quote) {
    const std::string triple(3, quote);
    const bool multi = bytes_.substr(at_, 3) == triple;
    at_ += multi ? 3 : 1;
    for (; at_ < bytes_.size(); ++at_) {
      const char c = bytes_[at_];
      if (c == '\\' && quote == '"') {
        ++at_;
      } else if (multi ? bytes_.substr(at_, 3) == triple : c == quote) {
        at_ += multi ? 2 : 0;
        return;
      } else if (!multi && c == '\n') {
        return;
      }
    }
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  int dots_ = 0;
};

/// Whether any line has as many dots as a key may not have; nearly no file does.
bool has_dotty_line(std::string_view bytes) {
  int dots = 0;
  for (const char c : bytes) {
    dots = c == '\n' ? 0 : dots + (c == '.' ? 1 : 0);
    if (dots >= kMostKeyParts) {
      return true;
    }
  }
  return false;
}

bool check_depth(std::string_view bytes, const Source& source) {
  if (!has_dotty_line(bytes)) {
    return true;
  }
  const auto at = DotCounter(bytes).find();
  if (at == std::string_view::npos) {
    return true;
  }
  source.report.error(line_of(bytes, at, source), "too-deep",
                      fmt::format("a key has more than {} parts", kMostKeyParts));
  return false;
}

}  // namespace

bool check_bytes(std::string_view bytes, const Source& source) {
  if (bytes.size() > kLargestFile) {
    source.report.error(
        {source.file, 1, 1}, "too-large",
        fmt::format("the file has {} bytes, at most {} are read", bytes.size(), kLargestFile));
    return false;
  }
  return check_nul(bytes, source) && check_utf8(bytes, source) &&
         check_carriage_returns(bytes, source) && check_depth(bytes, source);
}

}  // namespace mesh::model
