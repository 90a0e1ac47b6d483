#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Containerfiles as BuildKit reads them (its published reference, and its parser's observed
/// behaviour where the reference is silent). Pure: text in, values and problems out.
namespace mesh::containerfile {

/// Where something stands in the file; both count from 1.
struct Spot {
  int line = 0;
  int column = 0;
  auto operator<=>(const Spot&) const = default;
};

/// What is wrong with the file, or (a warning) what is likely not meant. `code` is a stable
/// kebab-case word; the hint may be empty.
struct Problem {
  bool error = true;
  std::string code{};
  std::string message{};
  std::string hint{};
  Spot spot{};
};

enum class Verb {
  Add,
  Arg,
  Cmd,
  Copy,
  Entrypoint,
  Env,
  Expose,
  From,
  Healthcheck,
  Label,
  Maintainer,
  Onbuild,
  Run,
  Shell,
  Stopsignal,
  User,
  Volume,
  Workdir,
};

/// The instruction's name in upper case: `COPY`.
[[nodiscard]] std::string_view verb_name(Verb verb);

/// A word of an instruction, before variables in it are replaced.
struct Word {
  std::string text{};
  Spot spot{};
};

/// `--name=value`, quotes removed; no value where no `=` was written.
struct Flag {
  std::string name{};
  std::optional<std::string> value{};
  Spot spot{};
};

/// A here-document: `<<EOF`, and the lines up to the one that is EOF.
struct Heredoc {
  std::string name{};
  bool expand = true;  // false where a part of the name is quoted
  bool chomp = false;  // `<<-`: leading tabs are no part of the lines
  std::string content{};

  /// The content as it is meant: without leading tabs where `chomp` says so.
  [[nodiscard]] std::string text() const;
};

/// `--mount=…` of a RUN. Values are as written; variables in them are not replaced.
struct Mount {
  std::string type = "bind";
  std::string from{};
  std::string source{};
  std::string target{};
  std::string id{};
  bool writable = false;  // of a bind
  bool required = false;
  std::vector<std::string> keys{};    // all that were given, sorted
  std::vector<std::string> fields{};  // as written, in their order
  std::size_t flag = 0;               // its flag's index
};

struct Instruction {
  Verb verb = Verb::Run;
  Spot spot{};
  int last_line = 0;   // of the instruction and its here-documents
  std::string text{};  // the whole instruction on one line, continuations joined
  std::string rest{};  // what follows the flags, trimmed
  bool json = false;   // `rest` is a JSON list of texts: `args`
  std::vector<Flag> flags{};
  std::vector<Word> args{};
  std::vector<Heredoc> heredocs{};
  std::vector<Mount> mounts{};
  std::vector<Instruction> trigger{};  // of ONBUILD: one, or none where it could not be read

  /// The flag's value, or nullptr.
  [[nodiscard]] const Flag* flag(std::string_view name) const;
};

struct Stage {
  int number = 0;
  std::string name{};  // lower case; empty where it has none
  Word base{};
  std::optional<Word> platform{};
  Instruction from{};
  std::vector<Instruction> instructions{};
};

struct Directive {
  std::string name{};  // lower case
  std::string value{};
  Spot spot{};
};

struct File {
  char escape = '\\';
  std::vector<Directive> directives{};
  std::vector<Instruction> globals{};  // ARGs before the first FROM
  std::vector<Stage> stages{};
  std::vector<Problem> problems{};  // sorted by place

  [[nodiscard]] bool has_errors() const;
};

/// What is the largest file that is read; a larger one is a problem.
inline constexpr std::size_t kLargestFile = 1U << 20U;

/// Reads a whole Containerfile. Every problem is reported at once; what could be read stands in the
/// result beside them.
[[nodiscard]] File parse(std::string_view text);

}  // namespace mesh::containerfile
