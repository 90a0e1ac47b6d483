#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/place.h"
#include "base/result.h"

namespace mesh::cli {

/// Documents keep their keys in the order in which they are documented.
using Json = nlohmann::ordered_json;

/// Every exit code of `mesh`; `env -- COMMAND` has the command's.
namespace exit_code {
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;   // it failed, a "no", findings, a deadline, the lock is held
inline constexpr int kChanges = 2;  // `plan --detailed-exitcode` alone
inline constexpr int kUsage = 64;
inline constexpr int kInvalid = 65;  // declarations or files
inline constexpr int kUnreachable = 69;
inline constexpr int kInterrupted = 130;
}  // namespace exit_code

/// The exit code of a verb that ended with an error of `code`.
[[nodiscard]] int exit_code_of(Code code);

/// A program that takes the place of this one, in the caller's directory, with `added` over the
/// caller's environment and without `removed`.
struct Exec {
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> added;
  std::vector<std::string> removed;
};

/// What a verb came to. `text` is for people and goes to stdout, as does `document` with --json (a
/// null document prints nothing: the verb has printed as it went). `diagnostics` goes to stderr.
struct Outcome {
  std::string text;
  std::string diagnostics;
  Json document;
  int exit = exit_code::kDone;
  /// It has changed something: a reader of stdout that is gone does not make a failure of that. Of
  /// a verb that only answers, an answer that nobody gets is one.
  bool acted = false;
  std::optional<Exec> exec;
};

/// `{"error":{"code","message","file","line","column","hint"}}`; what is unknown is null.
[[nodiscard]] Json error_document(const Error& error);

/// `{"text","file","line"}`
[[nodiscard]] Json because_json(const Because& because);

/// `error: message`, and `  hint: …` and `  at: file:line` where known.
[[nodiscard]] std::string error_text(const Error& error, bool colour);

}  // namespace mesh::cli
