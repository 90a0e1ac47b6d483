#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/frame.h"
#include "cli/verbs.h"
#include "os/clock.h"
#include "os/random.h"

/// For tests: the command line without a process.
namespace mesh::cli::testing {

/// Remembers what was printed; stdin is a text.
class RecordingConsole : public Console {
 public:
  Status out(std::string_view text) override {
    if (broken) {
      return fail(*broken, "nobody reads");
    }
    printed += text;
    return {};
  }
  void err(std::string_view text) override { remarks += text; }
  Result<std::string> in(std::size_t most) override {
    if (input.size() > most) {
      return fail(Code::InvalidArgument, "too long");
    }
    return input;
  }
  [[nodiscard]] bool out_is_terminal() const override { return terminal; }
  [[nodiscard]] bool err_is_terminal() const override { return terminal; }
  [[nodiscard]] bool in_is_terminal() const override { return false; }

  std::string printed;
  std::string remarks;
  std::string input;
  bool terminal = false;
  std::optional<Code> broken;  // why stdout cannot be written
};

/// What a run of `mesh` came to.
struct Ran {
  int exit = 0;
  std::string out;
  std::string err;

  [[nodiscard]] Json json() const { return Json::parse(out, nullptr, false); }
};

/// A process that is not one: `mesh` run over and over in one directory.
class Shell {
 public:
  explicit Shell(std::string start = "/", std::vector<Verb> known = all_verbs())
      : verbs(std::move(known)), directory(std::move(start)) {}

  Ran run(const std::vector<std::string>& words, std::string input = {}) {
    RecordingConsole console;
    console.input = std::move(input);
    console.terminal = terminal;
    console.broken = broken;
    os::Interrupt interrupt;
    const Process process{
        .clock = clock,
        .random = random,
        .directory = directory,
        .variable = [this](const std::string& name) -> std::optional<std::string> {
          const auto found = variables.find(name);
          return found == variables.end() ? std::nullopt : std::optional(found->second);
        },
        .exec =
            [this](const Exec& what) {
              executed.push_back(what);
              return 7;
            },
        .watch_signals = [this](bool ends_itself) { watched.push_back(ends_itself); }};
    const int exit = cli::run(words, verbs, console, interrupt, process);
    return {exit, console.printed, console.remarks};
  }

  std::vector<Verb> verbs;
  std::string directory;
  std::map<std::string, std::string> variables;
  std::vector<Exec> executed;
  std::vector<bool> watched;
  os::SystemClock clock;
  os::SystemRandom random;
  bool terminal = false;
  std::optional<Code> broken;  // why stdout cannot be written
};

}  // namespace mesh::cli::testing
