#include "cli/context.h"

#include <filesystem>

namespace mesh::cli {

std::string Context::absolute(std::string_view path) const {
  auto whole = (std::filesystem::path(directory) / path).lexically_normal();
  if (!whole.has_filename() && whole.has_relative_path()) {
    whole = whole.parent_path();  // a trailing slash
  }
  return whole.string();
}

bool Context::colour_out() const {
  return console.out_is_terminal() && variable("NO_COLOR").value_or("").empty();
}

bool Context::colour_err() const {
  return console.err_is_terminal() && variable("NO_COLOR").value_or("").empty();
}

void Context::say(std::string_view line) const {
  console.err(std::string(line) + "\n");
}

}  // namespace mesh::cli
