#include "containerfile/variables.h"

#include <utility>

#include <fmt/format.h>

namespace mesh::containerfile {

Variables::Variables(const Resolved& resolved, char escape,
                     std::optional<std::map<std::string, std::string>> base)
    : resolved_(resolved), escape_(escape), base_known_(base.has_value()) {
  if (base) {
    all_ = *base;
    env_ = std::move(*base);
  }
}

std::optional<std::string> Variables::find(std::string_view name) const {
  const auto found = all_.find(std::string(name));
  return found == all_.end() ? std::nullopt : std::optional(found->second);
}

Result<Expansion> Variables::value(std::string_view word, bool skip_quotes) const {
  MESH_TRY(auto out, expand(word, [this](std::string_view name) { return find(name); },
                            {.escape = escape_, .skip_quotes = skip_quotes}));
  if (!out.missing.empty() && !base_known_) {
    return fail(
        Code::InvalidArgument,
        fmt::format("the value of {} may come from the base image, and is needed before the build",
                    out.missing.front()),
        fmt::format("set it with ENV {}=… above", out.missing.front()));
  }
  return out;
}

Status Variables::take(const Instruction& instruction) {
  if (instruction.verb == Verb::Arg) {
    for (const auto& arg : instruction.args) {
      MESH_CHECK(take_arg(arg));
    }
  } else if (instruction.verb == Verb::Env) {
    // All of one ENV see the variables as they were before it.
    std::map<std::string, std::string> set;
    for (const auto& pair : pairs_of(instruction)) {
      auto text = value(pair.value);
      if (text) {
        set[pair.name] = text->text;
      } else {
        all_.erase(pair.name);
      }
    }
    for (auto& [name, text] : set) {
      env_[name] = text;
      all_[name] = std::move(text);
    }
  }
  return {};
}

Status Variables::take_arg(const Word& arg) {
  const auto equals = arg.text.find('=');
  const auto name = arg.text.substr(0, equals);
  const auto& given = resolved_.settings.args;
  if (const auto found = given.find(name); found != given.end()) {
    all_[name] = found->second;
  } else if (equals != std::string::npos) {
    if (auto text = value(arg.text.substr(equals + 1))) {
      all_[name] = text->text;
    } else {
      all_.erase(name);  // whoever needs it is told
    }
  } else if (const auto global = resolved_.globals.find(name); global != resolved_.globals.end()) {
    all_[name] = global->second;
  }
  return {};
}

std::optional<std::map<std::string, std::string>> Variables::environment() const {
  return base_known_ ? std::optional(env_) : std::nullopt;
}

std::vector<Pair> pairs_of(const Instruction& instruction) {
  std::vector<Pair> pairs;
  const bool old_form =
      !instruction.args.empty() && instruction.args.front().text.find('=') == std::string::npos;
  if (old_form) {
    pairs.push_back({instruction.args.front().text,
                     instruction.args.size() > 1 ? instruction.args[1].text : ""});
    return pairs;
  }
  for (const auto& arg : instruction.args) {
    const auto equals = arg.text.find('=');
    pairs.push_back({arg.text.substr(0, equals),
                     equals == std::string::npos ? "" : arg.text.substr(equals + 1)});
  }
  return pairs;
}

}  // namespace mesh::containerfile
