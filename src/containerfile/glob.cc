#include "containerfile/glob.h"

#include <optional>
#include <vector>

namespace mesh::containerfile {

namespace {

/// One part of a pattern: a plain character, any one, or any number.
struct GlobPart {
  enum class Kind { Plain, One, Many };
  Kind kind = Kind::Plain;
  char plain = 0;
};

Result<std::vector<GlobPart>> read_glob(std::string_view pattern) {
  std::vector<GlobPart> parts;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '*') {
      parts.push_back({GlobPart::Kind::Many});
    } else if (pattern[i] == '?') {
      parts.push_back({GlobPart::Kind::One});
    } else if (pattern[i] == '\\') {
      const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
      if (next != '*' && next != '?' && next != '\\' && next != '}' && next != '/') {
        return fail(Code::InvalidArgument,
                    "in a pattern `\\` stands before `*`, `?`, `\\`, `}` or `/` only");
      }
      parts.push_back({GlobPart::Kind::Plain, next});
      ++i;
    } else {
      parts.push_back({GlobPart::Kind::Plain, pattern[i]});
    }
  }
  return parts;
}

bool fits(const GlobPart& part, char c) {
  return part.kind != GlobPart::Kind::Plain || part.plain == c;
}

/// Which lengths of the start of `value` the parts match, by the parts seen so far.
std::vector<bool> matched_lengths(const std::vector<GlobPart>& parts, std::string_view value) {
  std::vector<bool> now(value.size() + 1, false);
  now[0] = true;
  for (const auto& part : parts) {
    std::vector<bool> next(value.size() + 1, false);
    const bool many = part.kind == GlobPart::Kind::Many;
    for (std::size_t i = 0; i <= value.size(); ++i) {
      if (many) {
        next[i] = now[i] || (i > 0 && next[i - 1]);
      } else {
        next[i] = i > 0 && now[i - 1] && fits(part, value[i - 1]);
      }
    }
    now = std::move(next);
  }
  return now;
}

std::optional<std::size_t> match_length(const std::vector<GlobPart>& parts, std::string_view value,
                                        bool longest) {
  const auto lengths = matched_lengths(parts, value);
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i]) {
      found = i;
      if (!longest) {
        break;
      }
    }
  }
  return found;
}

}  // namespace

Result<std::string> without_prefix(std::string_view value, std::string_view pattern, bool longest) {
  MESH_TRY(const auto parts, read_glob(pattern));
  return std::string(value.substr(match_length(parts, value, longest).value_or(0)));
}

Result<std::string> without_suffix(std::string_view value, std::string_view pattern, bool longest) {
  MESH_TRY(auto parts, read_glob(pattern));
  const std::vector<GlobPart> backwards(parts.rbegin(), parts.rend());
  const std::string turned(value.rbegin(), value.rend());
  const auto length = match_length(backwards, turned, longest).value_or(0);
  return std::string(value.substr(0, value.size() - length));
}

Result<std::string> replaced(std::string_view value, std::string_view pattern,
                             std::string_view replacement, bool every) {
  MESH_TRY(const auto parts, read_glob(pattern));
  std::string out;
  std::size_t at = 0;
  bool go_on = true;
  while (go_on && at <= value.size()) {
    const auto length = match_length(parts, value.substr(at), true);
    if (length) {
      out += replacement;
      at += *length;
      go_on = every;
    }
    if ((!length || *length == 0) && at < value.size()) {
      out += value[at++];
    } else if (at == value.size()) {
      return out;
    }
  }
  return out.append(value.substr(std::min(at, value.size())));
}

}  // namespace mesh::containerfile
