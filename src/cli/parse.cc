// The one file that knows the option library: it takes seconds to compile.
#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/arguments.h"
#include "model/units.h"

namespace mesh::cli {

namespace {

/// Where the library puts what it finds; one entry for each option and for the positionals.
struct Found {
  std::map<std::string, std::vector<std::string>> values;
  std::map<std::string, int> flags;
  std::vector<std::string> positionals;
};

std::vector<std::string> verb_names(std::span<const VerbSpec> verbs) {
  std::vector<std::string> names;
  for (const auto& verb : verbs) {
    if (!verb.hidden) {
      names.push_back(verb.name);
    }
  }
  return names;
}

std::string option_names(const OptionSpec& option) {
  return option.name == "--help" ? "-h,--help" : option.name;
}

void add_option(CLI::App& app, const OptionSpec& option, Found& found) {
  if (option.value.empty()) {
    app.add_flag(option_names(option), found.flags[option.name]);
    return;
  }
  app.add_option(option.name, found.values[option.name])
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_verb(CLI::App& app, const VerbSpec& verb, Found& found) {
  auto* sub = app.add_subcommand(verb.name);
  sub->set_help_flag();
  sub->fallthrough();
  sub->allow_extras();
  sub->add_option("ARGUMENTS", found.positionals);
  for (const auto& option : verb.options) {
    add_option(*sub, option, found);
  }
}

std::unexpected<Error> usage(std::string message, std::string hint) {
  return fail(Code::Usage, std::move(message), std::move(hint));
}

std::string see_help(const std::string& verb) {
  return verb.empty() ? "`mesh --help` lists the verbs" : fmt::format("see `mesh {} --help`", verb);
}

std::unexpected<Error> unknown_option(const std::string& word, const VerbSpec* verb) {
  std::vector<std::string> known;
  for (const auto& option : global_options()) {
    known.push_back(option.name);
  }
  if (verb != nullptr) {
    for (const auto& option : verb->options) {
      known.push_back(option.name);
    }
  }
  const auto name = word.substr(0, word.find('='));
  const auto meant = nearest(name, known);
  return usage(fmt::format("unknown option {}", printable(name)),
               meant.empty() ? see_help(verb == nullptr ? "" : verb->name)
                             : fmt::format("did you mean {}?", meant));
}

std::unexpected<Error> unknown_verb(const std::string& word, std::span<const VerbSpec> verbs) {
  const auto meant = nearest(word, verb_names(verbs));
  return usage(fmt::format("there is no verb '{}'", printable(word)),
               meant.empty() ? see_help("") : fmt::format("did you mean `mesh {}`?", meant));
}

bool is_option(const std::string& word) {
  return word.size() > 1 && word.front() == '-';
}

/// What the library could not place: an unknown option first, since that explains the rest.
Status check_extras(CLI::App& app, const VerbSpec* verb, std::span<const VerbSpec> verbs) {
  const auto extras = app.remaining(/*recurse=*/true);
  for (const auto& word : extras) {
    if (is_option(word)) {
      return unknown_option(word, verb);
    }
  }
  if (!extras.empty() && verb == nullptr) {
    return unknown_verb(extras.front(), verbs);
  }
  return {};
}

Status check_choice(const PositionalSpec& spec, const std::string& word, const VerbSpec& verb) {
  if (spec.choices.empty() || std::ranges::find(spec.choices, word) != spec.choices.end()) {
    return {};
  }
  const auto meant = nearest(word, spec.choices);
  return usage(fmt::format("`mesh {}` has no '{}'", verb.name, printable(word)),
               meant.empty() ? fmt::format("one of {}", join(spec.choices, ", "))
                             : fmt::format("did you mean {}?", meant));
}

/// How many words each positional gets: the required ones first, then the optional ones from the
/// left.
std::vector<std::size_t> shares(const VerbSpec& verb, std::size_t words) {
  using Count = PositionalSpec::Count;
  const auto required = static_cast<std::size_t>(std::ranges::count_if(
      verb.positionals, [](const auto& spec) { return spec.count == Count::One; }));
  std::size_t spare = words > required ? words - required : 0;
  std::vector<std::size_t> out;
  for (const auto& spec : verb.positionals) {
    const std::size_t most = spec.count == Count::Many ? spare : 1;
    const std::size_t share = spec.count == Count::One ? 1 : std::min(spare, most);
    spare -= spec.count == Count::One ? 0 : share;
    out.push_back(share);
  }
  return out;
}

Status place_positionals(const VerbSpec& verb, const std::vector<std::string>& words,
                         Arguments& arguments) {
  const auto share = shares(verb, words.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < verb.positionals.size(); ++i) {
    const auto& spec = verb.positionals[i];
    for (std::size_t taken = 0; taken < share[i]; ++taken, ++next) {
      if (next >= words.size()) {
        return usage(fmt::format("{} is missing: {}", spec.name, spec.summary),
                     see_help(verb.name));
      }
      MESH_CHECK(check_choice(spec, words[next], verb));
      arguments.add(spec.name, words[next]);
    }
  }
  if (next < words.size()) {
    return usage(fmt::format("unexpected argument '{}'", printable(words[next])),
                 verb.takes_command ? "a command goes after --" : see_help(verb.name));
  }
  return {};
}

Result<Globals> globals(Found& found) {
  Globals out;
  out.json = found.flags["--json"] > 0;
  out.help = found.flags["--help"] > 0;
  out.version = found.flags["--version"] > 0;
  const auto last = [&](const char* name) -> std::optional<std::string> {
    const auto& values = found.values[name];
    return values.empty() ? std::nullopt : std::optional(values.back());
  };
  out.directory = last("-C");
  out.state = last("--state");
  if (const auto text = last("--timeout")) {
    auto timeout = model::parse_time(*text);
    if (!timeout) {
      return usage("--timeout: " + timeout.error().message, timeout.error().hint);
    }
    out.timeout = *timeout;
  }
  return out;
}

void take_options(const VerbSpec& verb, const Found& found, Arguments& arguments) {
  for (const auto& option : verb.options) {
    if (option.value.empty()) {
      if (found.flags.at(option.name) > 0) {
        arguments.add(option.name, "");
      }
      continue;
    }
    for (const auto& value : found.values.at(option.name)) {
      arguments.add(option.name, value);
    }
  }
}

/// Each verb's app of its own, so that options of the same name in two verbs do not mix.
const VerbSpec* named_verb(const CLI::App& app, std::span<const VerbSpec> verbs) {
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    return nullptr;
  }
  const auto found = std::ranges::find(verbs, chosen.front()->get_name(), &VerbSpec::name);
  return found == verbs.end() ? nullptr : &*found;
}

Status check_repeats(const VerbSpec* verb, const Found& found) {
  if (verb == nullptr) {
    return {};
  }
  for (const auto& option : verb->options) {
    if (!option.value.empty() && !option.repeated && found.values.at(option.name).size() > 1) {
      return usage(fmt::format("{} is given twice", option.name), see_help(verb->name));
    }
  }
  return {};
}

Status run_library(CLI::App& app, std::vector<std::string> words) {
  std::ranges::reverse(words);  // the library takes its words from the back
  try {
    app.parse(std::move(words));
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string message = error.what();
    return usage(message.substr(0, message.find(':')) + " needs a value", see_help(""));
  } catch (const CLI::ParseError& error) {
    auto message = std::string(error.what());
    return usage(message.substr(0, message.find('\n')), see_help(""));
  }
  return {};
}

}  // namespace

Result<CommandLine> parse(std::span<const std::string> words, std::span<const VerbSpec> verbs) {
  const auto dashes = std::ranges::find(words, "--");
  const std::vector<std::string> before(words.begin(), dashes);
  const std::vector<std::string> after(dashes == words.end() ? dashes : dashes + 1, words.end());

  CLI::App app;
  std::map<std::string, Found> found;
  app.set_help_flag();
  app.allow_extras();
  app.require_subcommand(0, 1);
  for (const auto& option : global_options()) {
    add_option(app, option, found[""]);
  }
  for (const auto& verb : verbs) {
    add_verb(app, verb, found[verb.name]);
  }
  MESH_CHECK(run_library(app, before));

  const auto* verb = named_verb(app, verbs);
  CommandLine line;
  MESH_CHECK(check_extras(app, verb, verbs));
  MESH_TRY(line.globals, globals(found[""]));
  if (verb == nullptr) {
    return line;
  }
  line.verb = verb->name;
  auto& mine = found[verb->name];
  if (line.globals.help || line.globals.version) {
    return line;
  }
  MESH_CHECK(check_repeats(verb, mine));
  if (verb->takes_command) {
    line.arguments.set_command(after);
  } else {
    mine.positionals.insert(mine.positionals.end(), after.begin(), after.end());
  }
  take_options(*verb, mine, line.arguments);
  MESH_CHECK(place_positionals(*verb, mine.positionals, line.arguments));
  return line;
}

}  // namespace mesh::cli
