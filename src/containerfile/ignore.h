#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "containerfile/file.h"

namespace mesh::containerfile {

/// A part of a pattern: a character, `?`, `*`, `**` (at the end, or before more), a class `[a-z]`.
struct GlobToken {
  enum class Kind { Plain, One, Star, Folders, Rest, Class };
  Kind kind = Kind::Plain;
  char plain = 0;
  bool negated = false;                         // of a class
  std::vector<std::pair<char, char>> ranges{};  // of a class
};

/// What a context leaves out: `.containerignore` or `.dockerignore` by their documented rules (the
/// last rule that matches decides; `**`; `!` takes back; a rule that matches a folder matches all
/// in it; `#` only at a line's start; a leading `/` means nothing).
class IgnoreRules {
 public:
  /// Nothing is ignored.
  IgnoreRules() = default;

  /// What is known of a folder while its entries are matched: which rules matched it or a folder
  /// above it.
  using Matched = std::vector<bool>;

  /// Whether `path` (relative to the context, with `/`) is left out.
  [[nodiscard]] bool ignores(std::string_view path) const;

  /// The same in a walk: `parent` is what the walk was told of the folder, `own` is told to it of
  /// `path`.
  [[nodiscard]] bool ignores(std::string_view path, const Matched& parent, Matched& own) const;

  /// Whether something inside of the ignored folder `path` may be taken back by a `!` rule. Where
  /// not, a walk need not enter it.
  [[nodiscard]] bool may_take_back_inside(std::string_view path) const;

  [[nodiscard]] bool empty() const { return rules_.empty(); }

  /// A rule's pattern. `Suffix` and `Prefix` are `**x` and `x**` without other wildcards.
  struct Rule {
    enum class Kind { Exact, Prefix, Suffix, Tokens };
    bool take_back = false;
    Kind kind = Kind::Exact;
    std::string text{};  // to compare with, for all but Tokens
    std::vector<GlobToken> tokens{};
    std::string literal{};  // the start of the pattern up to its first wildcard
  };

 private:
  friend IgnoreRules read_ignore_rules(std::string_view text, std::vector<Problem>& problems);
  std::vector<Rule> rules_;
};

/// The rules of a file's text. Rules that cannot be read are problems and left out.
[[nodiscard]] IgnoreRules read_ignore_rules(std::string_view text, std::vector<Problem>& problems);

/// Where the rules are looked for, the first that exists is taken: `NAME.containerignore` and
/// `NAME.dockerignore` beside the Containerfile, then `.containerignore` and `.dockerignore` in the
/// context. `in_context` says which of the two folders the name is relative to.
struct IgnoreFile {
  std::string name;
  bool in_context = false;
};
[[nodiscard]] std::vector<IgnoreFile> ignore_files(std::string_view containerfile_name);

}  // namespace mesh::containerfile
