#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mesh::containerfile {

/// The value of a variable, or nothing where it is not set.
using Lookup = std::function<std::optional<std::string>(std::string_view name)>;

/// How a word is read. Here-document names are found with all but `keep_heredocs` raw.
struct LexOptions {
  char escape = '\\';
  bool raw_quotes = false;   // quotes stay in the result
  bool raw_escapes = false;  // the escape character stays in the result
  bool skip_quotes = false;  // quotes are ordinary characters
  bool keep_unset = false;   // variables that are not set stay as they are written
};

/// A word with its variables replaced and its quotes removed; the words that it falls into at its
/// spaces; the names that were asked for; and whether a form was used that only BuildKit knows
/// (`${x-y}`, `${x#y}`, `${x/y/z}`, `${x?y}`).
struct Expansion {
  std::string text{};
  std::vector<std::string> words{};
  std::vector<std::string> names{};    // in their order
  std::vector<std::string> missing{};  // of these, the unset ones
  bool new_forms = false;
};

/// Errors: InvalidArgument (an unclosed quote or brace, a form that does not exist, a variable that
/// `${x:?}` demands, a result of more than 1 MiB, braces nested more than 50 deep).
[[nodiscard]] Result<Expansion> expand(std::string_view word, const Lookup& lookup,
                                       const LexOptions& options = {});

}  // namespace mesh::containerfile
