#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// The command line as data: verbs say what they take, and get it parsed. Only parse.cc knows the
/// library behind it.
namespace mesh::cli {

struct PositionalSpec {
  enum class Count { One, Optional, Many };
  std::string name;  // as help shows it: `SUBJECT`
  std::string summary;
  Count count = Count::One;
  std::vector<std::string> choices;  // empty: anything
};

struct OptionSpec {
  std::string name;   // with its dashes: `--plan`
  std::string value;  // as help shows it: `DIGEST`; empty: a flag
  std::string summary;
  bool repeated = false;
};

struct VerbSpec {
  std::string name;
  std::string summary;  // one line
  std::string example;  // lines of shell, each a command that works
  std::vector<PositionalSpec> positionals;
  std::vector<OptionSpec> options;
  bool takes_command = false;  // `-- COMMAND…` may follow
  bool hidden = false;         // not in help or completions
  /// Whether the verb itself ends when the operator interrupts (`up`, `controller`, `push`); the
  /// others are ended on the spot, with exit code 130.
  bool ends_itself = false;
};

/// The options that every verb takes, before or after its name.
[[nodiscard]] const std::vector<OptionSpec>& global_options();

/// What was given to one verb. Options are named with their dashes.
class Arguments {
 public:
  [[nodiscard]] bool flag(std::string_view option) const;
  [[nodiscard]] std::optional<std::string> value(std::string_view option) const;
  [[nodiscard]] const std::vector<std::string>& values(std::string_view option) const;
  /// The positional of that name, by the spec's order.
  [[nodiscard]] std::optional<std::string> positional(std::string_view name) const;
  [[nodiscard]] const std::vector<std::string>& many(std::string_view name) const;
  /// What followed `--`, of a verb that takes a command.
  [[nodiscard]] const std::vector<std::string>& command() const { return command_; }

  // Filled by the parser, and by tests.
  void add(std::string_view name, std::string value);
  void set_command(std::vector<std::string> command) { command_ = std::move(command); }

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> given_;
  std::vector<std::string> command_;
};

struct Globals {
  std::optional<std::string> directory;  // -C
  std::optional<std::string> state;      // --state
  bool json = false;
  std::optional<std::chrono::milliseconds> timeout;
  bool help = false;
  bool version = false;
};

struct CommandLine {
  std::string verb;  // empty where none was given
  Globals globals;
  Arguments arguments;
};

/// Parses `words` (without the program's name). Errors: Usage, with the nearest verb or option as
/// the hint. With --help or --version, what else is missing is no error.
[[nodiscard]] Result<CommandLine> parse(std::span<const std::string> words,
                                        std::span<const VerbSpec> verbs);

}  // namespace mesh::cli
