#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace mesh::cli {

namespace {

using Count = PositionalSpec::Count;

std::string usage_word(const PositionalSpec& spec) {
  const auto name = spec.choices.empty() ? spec.name : join(spec.choices, "|");
  switch (spec.count) {
    case Count::One:
      return " " + name;
    case Count::Optional:
      return fmt::format(" [{}]", name);
    case Count::Many:
      return fmt::format(" [{}…]", name);
  }
  return {};
}

std::string option_word(const OptionSpec& option) {
  const auto* const name = option.name == "--help" ? "-h, --help" : option.name.c_str();
  return option.value.empty() ? std::string(name) : fmt::format("{} {}", name, option.value);
}

std::string row(std::string_view left, std::string_view right) {
  return fmt::format("  {:<22} {}\n", left, right);
}

std::string options_help(std::span<const OptionSpec> options) {
  std::string text;
  for (const auto& option : options) {
    text += row(option_word(option), option.summary);
  }
  return text;
}

std::string indented(const std::string& lines) {
  std::string text;
  for (const auto line : split(lines, '\n')) {
    text += line.empty() ? std::string() : fmt::format("  {}\n", line);
  }
  return text;
}

}  // namespace

std::string overview(std::span<const Verb> verbs) {
  std::string text =
      "mesh: modules, the machines they run on, and a bus that lets each say and hear exactly what "
      "it declares\n\nusage: mesh [OPTIONS] VERB …\n\nverbs:\n";
  for (const auto& verb : verbs) {
    if (!verb.spec.hidden) {
      text += row(verb.spec.name, verb.spec.summary);
    }
  }
  text += "\nnot in this version yet:\n";
  for (const auto& [name, summary] : later_verbs()) {
    text += row(name, summary);
  }
  text += "\noptions of every verb:\n" + options_help(global_options());
  text += "\nexample:\n  mesh init shop && cd shop && mesh check && mesh up\n";
  text += "\n`mesh VERB --help` says more about one.\n";
  return text;
}

std::string verb_help(const VerbSpec& verb) {
  std::string usage = "usage: mesh " + verb.name;
  for (const auto& spec : verb.positionals) {
    usage += usage_word(spec);
  }
  usage += verb.options.empty() ? "" : " [OPTIONS]";
  usage += verb.takes_command ? " [-- COMMAND…]" : "";
  std::string text = fmt::format("mesh {}: {}\n\n{}\n", verb.name, verb.summary, usage);
  if (!verb.positionals.empty()) {
    text += "\narguments:\n";
    for (const auto& spec : verb.positionals) {
      text += row(spec.name, spec.summary);
    }
  }
  if (!verb.options.empty()) {
    text += "\noptions:\n" + options_help(verb.options);
  }
  text += "\noptions of every verb:\n" + options_help(global_options());
  text += "\nexample:\n" + indented(verb.example);
  return text;
}

const Verb* find_verb(std::span<const Verb> verbs, std::string_view name) {
  const auto found =
      std::ranges::find_if(verbs, [&](const Verb& verb) { return verb.spec.name == name; });
  return found == verbs.end() ? nullptr : &*found;
}

std::optional<std::string> later_help(std::string_view name) {
  for (const auto& [later, summary] : later_verbs()) {
    if (later == name) {
      return fmt::format(
          "mesh {}: {}\n\nIt is not in this version yet. `mesh help` lists the verbs that are.\n",
          name, summary);
    }
  }
  return std::nullopt;
}

std::optional<Error> later_verb(std::string_view name) {
  for (const auto& [later, summary] : later_verbs()) {
    if (later == name) {
      return Error{Code::Unsupported,
                   fmt::format("`mesh {}` is not in this version yet", name),
                   "`mesh help` lists what is",
                   {}};
    }
  }
  return std::nullopt;
}

}  // namespace mesh::cli
