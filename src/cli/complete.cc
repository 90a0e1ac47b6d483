#include "cli/complete.h"

#include <algorithm>
#include <set>

#include "broker/principals.h"
#include "cli/declarations.h"
#include "cli/help.h"

namespace mesh::cli {

namespace {

/// What the words before the last one say.
struct Before {
  const Verb* verb = nullptr;
  std::size_t positionals = 0;
  bool wants_value = false;  // the last word is an option's value
  bool in_command = false;   // behind `--` of a verb that takes a command
};

const OptionSpec* find_option(const Verb* verb, const std::string& word) {
  const auto in = [&](const std::vector<OptionSpec>& options) {
    const auto found = std::ranges::find(options, word, &OptionSpec::name);
    return found == options.end() ? nullptr : &*found;
  };
  const auto* global = in(global_options());
  return global != nullptr || verb == nullptr ? global : in(verb->spec.options);
}

Before read_before(std::span<const Verb> verbs, std::span<const std::string> words) {
  Before before;
  for (const auto& word : words) {
    if (before.wants_value) {
      before.wants_value = false;
    } else if (word == "--") {
      before.in_command = true;
    } else if (word.starts_with("-")) {
      const auto* option = find_option(before.verb, word);
      before.wants_value = option != nullptr && !option->value.empty();
    } else if (before.verb == nullptr) {
      before.verb = find_verb(verbs, word);
    } else {
      ++before.positionals;
    }
  }
  return before;
}

std::set<std::string> option_words(const Verb* verb) {
  std::set<std::string> names;
  for (const auto& option : global_options()) {
    names.insert(option.name);
  }
  if (verb != nullptr) {
    for (const auto& option : verb->spec.options) {
      names.insert(option.name);
    }
  }
  return names;
}

std::set<std::string> verb_words(std::span<const Verb> verbs) {
  std::set<std::string> names;
  for (const auto& verb : verbs) {
    if (!verb.spec.hidden) {
      names.insert(verb.spec.name);
    }
  }
  return names;
}

/// Names out of the declarations; a completion never complains, so invalid ones give none.
std::set<std::string> declared_words(Context& context, const std::string& what) {
  std::set<std::string> names;
  const auto declared = declarations(context);
  if (!declared) {
    return names;
  }
  if (what == "MODULE") {
    for (const auto& module : declared->mesh().modules) {
      names.insert(module.name.text());
    }
    return names;
  }
  for (const auto& principal : broker::principals(declared->mesh())) {
    if (what == "PRINCIPAL" || principal.kind == broker::Kind::Module) {
      names.insert(principal.name);
    }
  }
  return names;
}

std::set<std::string> positional_words(Context& context, std::span<const Verb> verbs,
                                       const Before& before) {
  const auto& specs = before.verb->spec.positionals;
  if (specs.empty()) {
    return {};
  }
  const auto& spec = specs[std::min(before.positionals, specs.size() - 1)];
  if (before.positionals >= specs.size() && spec.count != PositionalSpec::Count::Many) {
    return {};
  }
  if (!spec.choices.empty()) {
    return {spec.choices.begin(), spec.choices.end()};
  }
  if (spec.name == "VERB") {
    return verb_words(verbs);
  }
  const bool declared =
      spec.name == "PRINCIPAL" || spec.name == "INSTANCE" || spec.name.starts_with("MODULE");
  return declared ? declared_words(context, spec.name.starts_with("MODULE") ? "MODULE" : spec.name)
                  : std::set<std::string>();
}

constexpr std::string_view kBash =
    R"sh(# bash completion of mesh: source it, or put it where bash-completion finds it
_mesh() {
  local IFS=$'\n'
  COMPREPLY=($(compgen -W "$(mesh __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _mesh mesh
)sh";

constexpr std::string_view kZsh = R"sh(#compdef mesh
# zsh completion of mesh: put it as _mesh into a directory of $fpath
_mesh() {
  local -a found
  found=(${(f)"$(mesh __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( ${#found} ));
then compadd - a found else _files fi
}
if {
  [["$funcstack[1]" == "_mesh"]];
} then
  _mesh "$@"
else
  compdef _mesh mesh
fi
)sh";

constexpr std::string_view kFish =
    R"sh(# fish completion of mesh: put it into ~/.config/fish/completions/mesh.fish
function __mesh_complete
    set -l before (commandline -opc)
    mesh __complete -- $before[2..-1] (commandline -ct) 2>/dev/null
end
complete -c mesh -a '(__mesh_complete)'
)sh";

}  // namespace

std::vector<std::string> candidates(Context& context, std::span<const Verb> verbs,
                                    std::span<const std::string> words) {
  const auto last = words.empty() ? std::string() : words.back();
  const auto before = read_before(verbs, words.empty() ? words : words.first(words.size() - 1));
  std::set<std::string> all;
  if (before.wants_value || before.in_command) {
    return {};
  }
  if (last.starts_with("-")) {
    all = option_words(before.verb);
  } else if (before.verb == nullptr) {
    all = verb_words(verbs);
  } else {
    all = positional_words(context, verbs, before);
  }
  std::vector<std::string> out;
  std::ranges::copy_if(all, std::back_inserter(out),
                       [&](const std::string& word) { return word.starts_with(last); });
  return out;
}

std::string completion_script(std::string_view shell) {
  if (shell == "bash") {
    return std::string(kBash);
  }
  if (shell == "zsh") {
    return std::string(kZsh);
  }
  return std::string(shell == "fish" ? kFish : "");
}

}  // namespace mesh::cli
