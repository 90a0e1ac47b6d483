#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "containerfile/file.h"

namespace mesh::containerfile {

/// A word and its offset in the text that it was cut from.
struct CutWord {
  std::string text{};
  std::size_t offset = 0;
};

/// The words between blanks.
[[nodiscard]] std::vector<CutWord> blank_words(std::string_view text);

/// The words between blanks outside of quotes; quotes and escapes stay (ENV, LABEL, ARG).
[[nodiscard]] std::vector<CutWord> quoted_words(std::string_view text, char escape);

/// The `--flags` that `text` starts with, quotes removed, and the offset of what follows them. A
/// lone `--` ends them and is dropped.
struct CutFlags {
  std::vector<CutWord> flags{};
  std::size_t rest = 0;
};
[[nodiscard]] CutFlags leading_flags(std::string_view text, char escape);

/// The texts of a JSON list; nothing where `text` is none. Errors: InvalidArgument (a list with
/// something else than texts in it).
[[nodiscard]] Result<std::optional<std::vector<std::string>>> json_texts(std::string_view text);

/// The here-documents that an instruction announces, without their contents. Nothing where its
/// words cannot be told apart, as BuildKit has it.
[[nodiscard]] std::vector<Heredoc> announced_heredocs(const std::string& line);

/// The here-document that a word alone announces.
[[nodiscard]] std::optional<Heredoc> heredoc_word(std::string_view word);

}  // namespace mesh::containerfile
