#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "containerfile/file.h"
#include "containerfile/lexer.h"
#include "containerfile/resolve.h"

namespace mesh::containerfile {

/// The variables of a stage as its instructions are gone through: ARG and ENV in their order, on
/// those of its base.
class Variables {
 public:
  /// `base` is the environment of the stage's base; nothing where it is not known.
  Variables(const Resolved& resolved, char escape,
            std::optional<std::map<std::string, std::string>> base);

  /// Takes an ARG or ENV; others change nothing. InvalidArgument: its value cannot be worked out.
  Status take(const Instruction& instruction);

  /// A word with its variables replaced. InvalidArgument: one of them may be of the base, which is
  /// not known.
  [[nodiscard]] Result<Expansion> value(std::string_view word, bool skip_quotes = false) const;

  /// The environment that a stage built on this one starts with; nothing where the base's is
  /// unknown.
  [[nodiscard]] std::optional<std::map<std::string, std::string>> environment() const;

 private:
  [[nodiscard]] std::optional<std::string> find(std::string_view name) const;
  Status take_arg(const Word& arg);

  const Resolved& resolved_;
  char escape_;
  bool base_known_;
  std::map<std::string, std::string> all_;
  std::map<std::string, std::string> env_;  // what stays in the image
};

/// The variable's name and value of an argument of ENV or LABEL.
struct Pair {
  std::string name;
  std::string value;
};
[[nodiscard]] std::vector<Pair> pairs_of(const Instruction& instruction);

}  // namespace mesh::containerfile
