#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "containerfile/file.h"

/// How words are spelled for the builder, such that its own reading gives them back.
namespace mesh::containerfile {

/// A JSON list on one line.
[[nodiscard]] std::string json_list(const std::vector<std::string>& texts);

/// `text` in double quotes.
[[nodiscard]] std::string in_quotes(std::string_view text, char escape);

/// The same without quotes, for words that stand in a JSON list.
[[nodiscard]] std::string escaped(std::string_view text, char escape);

/// `--name=value`.
[[nodiscard]] std::string flag_text(const Flag& flag, char escape);

/// A shell's command as it is written, unless its last sign would join the next line to it: then
/// the JSON list of `shell` and the command.
[[nodiscard]] std::string command_text(const Instruction& instruction,
                                       std::vector<std::string> shell);

/// A RUN's command with its here-documents, for the shell to read them.
[[nodiscard]] std::string with_heredocs(const Instruction& run);

/// Whether a word has a form of variable that buildah does not know (`${x-y}`, `${x#y}`, …).
[[nodiscard]] bool has_new_form(std::string_view word, char escape);

}  // namespace mesh::containerfile
