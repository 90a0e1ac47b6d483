#include "containerfile/spelling.h"

#include <optional>

#include <nlohmann/json.hpp>

#include "containerfile/lexer.h"

namespace mesh::containerfile {

std::string json_list(const std::vector<std::string>& texts) {
  return nlohmann::json(texts).dump(-1, ' ', /*ensure_ascii=*/false,
                                    nlohmann::json::error_handler_t::replace);
}

std::string in_quotes(std::string_view text, char escape) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '$' || c == escape) {
      out += escape;
    }
    out += c;
  }
  return out + '"';
}

std::string escaped(std::string_view text, char escape) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\'' || c == '$' || c == escape) {
      out += escape;
    }
    out += c;
  }
  return out;
}

std::string flag_text(const Flag& flag, char escape) {
  std::string value = flag.value.value_or("");
  const bool plain =
      value.find_first_of(" \t\"'") == std::string::npos && value.find(escape) == std::string::npos;
  if (!plain) {
    std::string quoted = "\"";
    for (const char c : value) {
      quoted += c == '"' || c == escape ? std::string{escape, c} : std::string{c};
    }
    value = quoted + "\"";
  }
  return "--" + flag.name + (flag.value ? "=" + value : "");
}

std::string command_text(const Instruction& instruction, std::vector<std::string> shell) {
  if (!instruction.rest.ends_with('\\')) {
    return instruction.rest;
  }
  shell.push_back(instruction.rest);
  return json_list(shell);
}

std::string with_heredocs(const Instruction& run) {
  std::string out = run.rest;
  for (const auto& heredoc : run.heredocs) {
    out += "\n" + heredoc.content + heredoc.name;
  }
  return out;
}

bool has_new_form(std::string_view word, char escape) {
  const auto any = [](std::string_view /*name*/) { return std::optional<std::string>("x"); };
  const auto tried = expand(word, any, {.escape = escape});
  return !tried || tried->new_forms;
}

}  // namespace mesh::containerfile
