#include "cli/frame.h"

#include <exception>
#include <filesystem>

#include <fmt/format.h>

#include "cli/help.h"

namespace mesh::cli {

namespace {

/// Whether --json stands before any `--`: asked before parsing, since a usage error has a document
/// as well.
bool wants_json(std::span<const std::string> words) {
  const auto end = std::ranges::find(words, "--");
  return std::find(words.begin(), end, "--json") != end;
}

std::string dumped(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

int write_out(Console& console, const std::string& text, int exit, bool acted = false) {
  if (text.empty()) {
    return exit;
  }
  const auto written = console.out(text);
  if (written) {
    return exit;
  }
  const bool nobody_reads = written.error().code == Code::Unavailable;
  if (!nobody_reads) {
    console.err(error_text(written.error(), false));
  }
  if (nobody_reads && acted) {
    return exit;
  }
  return exit == exit_code::kDone ? exit_code::kFailed : exit;
}

int print(Console& console, const Outcome& outcome, bool json) {
  if (!outcome.diagnostics.empty() && !json) {
    console.err(outcome.diagnostics);
  }
  if (!json) {
    return write_out(console, outcome.text, outcome.exit, outcome.acted);
  }
  return write_out(console, outcome.document.is_null() ? "" : dumped(outcome.document),
                   outcome.exit, outcome.acted);
}

int print(Console& console, const Error& error, bool json, bool colour) {
  console.err(error_text(error, colour));
  return write_out(console, json ? dumped(error_document(error)) : "", exit_code_of(error.code));
}

Outcome version_outcome() {
  Outcome outcome;
  outcome.text = fmt::format("mesh {}\n", kVersion);
  outcome.document = Json{{"version", kVersion}};
  return outcome;
}

Outcome help_outcome(std::span<const Verb> verbs, const std::string& verb) {
  Outcome outcome;
  const auto* found = find_verb(verbs, verb);
  outcome.text = found == nullptr ? overview(verbs) : verb_help(found->spec);
  outcome.document = Json{{"help", outcome.text}};
  return outcome;
}

std::vector<VerbSpec> specs(std::span<const Verb> verbs) {
  std::vector<VerbSpec> out;
  for (const auto& verb : verbs) {
    out.push_back(verb.spec);
  }
  return out;
}

bool takes_value(const std::string& word) {
  const auto& options = global_options();
  const auto found = std::ranges::find(options, word, &OptionSpec::name);
  return found != options.end() && !found->value.empty();
}

/// The word that would be the verb: those of a later version have options that nobody knows yet, so
/// that they cannot be parsed.
std::string verb_word(std::span<const std::string> words) {
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (!words[at].starts_with("-")) {
      return words[at];
    }
    at += takes_value(words[at]) ? 1U : 0U;
  }
  return {};
}

bool wants_help(std::span<const std::string> words) {
  const auto end = std::ranges::find(words, "--");
  return std::any_of(words.begin(), end,
                     [](const auto& word) { return word == "--help" || word == "-h"; });
}

Outcome text_outcome(const std::string& text) {
  Outcome outcome;
  outcome.text = text;
  outcome.document = Json{{"help", text}};
  return outcome;
}

Result<std::string> start_directory(const Globals& globals, const std::string& working) {
  if (!globals.directory) {
    return working;
  }
  const auto path = (std::filesystem::path(working) / *globals.directory).lexically_normal();
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) {
    return fail(Code::Usage, fmt::format("{} is no directory", *globals.directory),
                "-C takes the directory to start in");
  }
  return path.string();
}

/// The one place where what other libraries throw (no memory, a path that is no text) is caught.
Result<Outcome> run_caught(const Verb& verb, Context& context, const Arguments& arguments) {
  try {
    return verb.run(context, arguments);
  } catch (const std::exception& thrown) {
    return fail(Code::Internal, fmt::format("`mesh {}` failed: {}", verb.spec.name, thrown.what()));
  }
}

int run_verb(const Verb& verb, const CommandLine& line, Context& context, const Process& process) {
  process.watch_signals(verb.spec.ends_itself);
  auto outcome = run_caught(verb, context, line.arguments);
  if (!outcome && context.invalid) {
    return print(context.console, *context.invalid, context.json);
  }
  if (!outcome) {
    return print(context.console, outcome.error(), context.json, context.colour_err());
  }
  const int exit = print(context.console, *outcome, context.json);
  return outcome->exec ? process.exec(*outcome->exec) : exit;
}

}  // namespace

int run(std::span<const std::string> words, std::span<const Verb> verbs, Console& console,
        os::Interrupt& interrupt, const Process& process) {
  const bool json = wants_json(words);
  Context context{.console = console,
                  .interrupt = interrupt,
                  .clock = process.clock,
                  .random = process.random,
                  .variable = process.variable,
                  .directory = process.directory,
                  .state = {},
                  .timeout = {},
                  .json = json};
  const auto refuse = [&](const Error& error) {
    return print(console, error, json, context.colour_err());
  };
  if (const auto later = later_verb(verb_word(words))) {
    return wants_help(words) ? print(console, text_outcome(*later_help(verb_word(words))), json)
                             : refuse(*later);
  }
  const auto all = specs(verbs);
  const auto line = parse(words, all);
  if (!line) {
    return refuse(line.error());
  }
  if (line->globals.version) {
    return print(console, version_outcome(), json);
  }
  if (line->globals.help) {
    return print(console, help_outcome(verbs, line->verb), json);
  }
  const auto* verb = find_verb(verbs, line->verb);
  if (verb == nullptr) {
    console.err(overview(verbs));
    return refuse({Code::Usage, "a verb is missing", "`mesh --help` lists the verbs", {}});
  }
  const auto directory = start_directory(line->globals, process.directory);
  if (!directory) {
    return refuse(directory.error());
  }
  context.directory = *directory;
  context.state = line->globals.state;
  context.timeout = line->globals.timeout;
  return run_verb(*verb, *line, context, process);
}

}  // namespace mesh::cli
