#include "containerfile/ignore.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "containerfile/lines.h"

namespace mesh::containerfile {

namespace {

using Rule = IgnoreRules::Rule;

/// The path without `.`, doubled `/`, and `..` where a folder stands before it; no leading or last
/// `/`.
std::string clean_path(std::string_view path) {
  std::vector<std::string_view> parts;
  const bool rooted = path.starts_with('/');
  for (const auto part : split(path, '/')) {
    if (part.empty() || part == ".") {
      continue;
    }
    if (part == ".." && !parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else if (part != ".." || !rooted) {
      parts.push_back(part);
    }
  }
  std::string out;
  for (const auto part : parts) {
    out += (out.empty() ? "" : "/") + std::string(part);
  }
  return out;
}

/// Reads a pattern into tokens, as Docker's matcher understands it.
class PatternReader {
 public:
  explicit PatternReader(std::string_view pattern) : pattern_(pattern) {}

  /// False where a class does not close or is empty, or the last character is `\`.
  bool read(std::vector<GlobToken>& tokens) {
    while (at_ < pattern_.size()) {
      const char c = pattern_[at_++];
      if (c == '*') {
        tokens.push_back(star());
      } else if (c == '?') {
        tokens.push_back({GlobToken::Kind::One});
      } else if (c == '[') {
        auto token = character_class();
        if (!token) {
          return false;
        }
        tokens.push_back(std::move(*token));
      } else if (c == '\\') {
        if (at_ == pattern_.size()) {
          return false;
        }
        tokens.push_back({GlobToken::Kind::Plain, pattern_[at_++]});
      } else {
        tokens.push_back({GlobToken::Kind::Plain, c});
      }
    }
    return true;
  }

 private:
  GlobToken star() {
    if (at_ == pattern_.size() || pattern_[at_] != '*') {
      return {GlobToken::Kind::Star};
    }
    ++at_;
    if (at_ < pattern_.size() && pattern_[at_] == '/') {
      ++at_;
    }
    return {at_ == pattern_.size() ? GlobToken::Kind::Rest : GlobToken::Kind::Folders};
  }

  std::optional<GlobToken> character_class() {
    GlobToken token{GlobToken::Kind::Class};
    if (at_ < pattern_.size() && pattern_[at_] == '^') {
      token.negated = true;
      ++at_;
    }
    while (at_ < pattern_.size() && (pattern_[at_] != ']' || token.ranges.empty())) {
      const auto low = class_character();
      auto high = low;
      if (at_ + 1 < pattern_.size() && pattern_[at_] == '-' && pattern_[at_ + 1] != ']') {
        ++at_;
        high = class_character();
      }
      if (!low || !high || *high < *low) {
        return std::nullopt;
      }
      token.ranges.emplace_back(*low, *high);
    }
    if (at_ == pattern_.size()) {
      return std::nullopt;
    }
    ++at_;
    return token;
  }

  std::optional<char> class_character() {
    if (pattern_[at_] == ']' || pattern_[at_] == '-') {
      return std::nullopt;
    }
    if (pattern_[at_] == '\\') {
      ++at_;
    }
    if (at_ == pattern_.size()) {
      return std::nullopt;
    }
    return pattern_[at_++];
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
};

bool token_fits(const GlobToken& token, char c) {
  switch (token.kind) {
    case GlobToken::Kind::Plain:
      return c == token.plain;
    case GlobToken::Kind::One:
    case GlobToken::Kind::Star:
      return c != '/';
    case GlobToken::Kind::Class:
      return std::ranges::any_of(token.ranges, [&](const auto& range) {
               return range.first <= c && c <= range.second;
             }) != token.negated;
    case GlobToken::Kind::Folders:
    case GlobToken::Kind::Rest:
      return true;
  }
  return false;
}

/// One step of the match: which ends are reached with one token more.
std::vector<bool> advance(const GlobToken& token, const std::vector<bool>& now,
                          std::string_view path) {
  std::vector<bool> next(now.size(), false);
  bool carried = false;  // inside of what `*` or `**` has taken
  for (std::size_t i = 0; i < now.size(); ++i) {
    const bool fits = i > 0 && token_fits(token, path[i - 1]);
    if (token.kind == GlobToken::Kind::Star || token.kind == GlobToken::Kind::Rest) {
      next[i] = now[i] || (fits && next[i - 1]);
    } else if (token.kind == GlobToken::Kind::Folders) {
      next[i] = now[i] || (carried && path[i - 1] == '/');
      carried = carried || now[i];
    } else {
      next[i] = fits && now[i - 1];
    }
  }
  return next;
}

bool tokens_match(const std::vector<GlobToken>& tokens, std::string_view path) {
  std::vector<bool> now(path.size() + 1, false);
  now[0] = true;
  for (const auto& token : tokens) {
    now = advance(token, now, path);
  }
  return now.back();
}

bool rule_matches(const Rule& rule, std::string_view path) {
  switch (rule.kind) {
    case Rule::Kind::Exact:
      return path == rule.text;
    case Rule::Kind::Prefix:
      return path.starts_with(rule.text);
    case Rule::Kind::Suffix:
      return path.ends_with(rule.text) ||
             (rule.text.starts_with('/') && path == rule.text.substr(1));
    case Rule::Kind::Tokens:
      return tokens_match(rule.tokens, path);
  }
  return false;
}

bool is_wild(const GlobToken& token) {
  return token.kind != GlobToken::Kind::Plain;
}

/// Takes the simple way to compare where there is one.
void choose_kind(Rule& rule, const std::string& pattern) {
  const auto first = std::ranges::find_if(rule.tokens, is_wild);
  for (auto at = rule.tokens.begin(); at != first; ++at) {
    rule.literal += at->plain;
  }
  const auto wild = std::ranges::count_if(rule.tokens, is_wild);
  if (wild == 0) {
    rule.kind = Rule::Kind::Exact;
    rule.text = rule.literal;
  } else if (pattern.starts_with("**") && wild == 1 && pattern.find('\\') == std::string::npos) {
    rule.kind = Rule::Kind::Suffix;
    rule.text = pattern.substr(2);
  } else if (wild == 1 && rule.tokens.back().kind == GlobToken::Kind::Rest) {
    rule.kind = Rule::Kind::Prefix;
    rule.text = rule.literal;
  } else {
    rule.kind = Rule::Kind::Tokens;
  }
}

/// Whether `path` or a folder above it matches.
bool matches_or_parent(const Rule& rule, std::string_view path) {
  if (rule_matches(rule, path)) {
    return true;
  }
  for (auto slash = path.find('/'); slash != std::string_view::npos;
       slash = path.find('/', slash + 1)) {
    if (rule_matches(rule, path.substr(0, slash))) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool IgnoreRules::ignores(std::string_view path) const {
  bool ignored = false;
  for (const auto& rule : rules_) {
    if (rule.take_back == ignored && matches_or_parent(rule, path)) {
      ignored = !rule.take_back;
    }
  }
  return ignored;
}

bool IgnoreRules::ignores(std::string_view path, const Matched& parent, Matched& own) const {
  own.assign(rules_.size(), false);
  bool ignored = false;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    own[i] = (i < parent.size() && parent[i]) || rule_matches(rules_[i], path);
    if (own[i]) {
      ignored = !rules_[i].take_back;
    }
  }
  return ignored;
}

bool IgnoreRules::may_take_back_inside(std::string_view path) const {
  const std::string folder = std::string(path) + "/";
  return std::ranges::any_of(rules_, [&](const Rule& rule) {
    return rule.take_back && (rule.literal.starts_with(folder) ||
                              (rule.kind != Rule::Kind::Exact && folder.starts_with(rule.literal)));
  });
}

IgnoreRules read_ignore_rules(std::string_view text, std::vector<Problem>& problems) {
  IgnoreRules out;
  int number = 0;
  text.remove_prefix(text.starts_with("\xEF\xBB\xBF") ? 3 : 0);
  for (const auto raw : split(text, '\n')) {
    ++number;
    auto line = trimmed(raw);
    if (raw.starts_with('#') || line.empty()) {
      continue;
    }
    Rule rule;
    rule.take_back = line.starts_with('!');
    line.remove_prefix(rule.take_back ? 1 : 0);
    const auto pattern = clean_path(trimmed(line));
    if (pattern.empty() && trimmed(line).empty()) {
      problems.push_back(
          {true, "bad-ignore-rule", "`!` takes nothing back", "write !PATTERN", {number, 1}});
      continue;
    }
    if (!PatternReader(pattern).read(rule.tokens)) {
      problems.push_back({true,
                          "bad-ignore-rule",
                          fmt::format("the pattern `{}` cannot be read", printable(pattern)),
                          "`[` opens a class that ends with `]`; write `\\[` for the character",
                          {number, 1}});
      continue;
    }
    if (!pattern.empty()) {
      choose_kind(rule, pattern);
      out.rules_.push_back(std::move(rule));
    }
  }
  return out;
}

std::vector<IgnoreFile> ignore_files(std::string_view containerfile_name) {
  const std::string name(containerfile_name);
  return {{name + ".containerignore", false},
          {name + ".dockerignore", false},
          {".containerignore", true},
          {".dockerignore", true}};
}

}  // namespace mesh::containerfile
