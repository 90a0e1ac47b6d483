#include "cli/arguments.h"

namespace mesh::cli {

const std::vector<OptionSpec>& global_options() {
  static const std::vector<OptionSpec> kOptions = {
      {"-C", "DIR", "start in DIR instead of the working directory"},
      {"--state", "DIR", "keep state in DIR (default: .mesh beside mesh.toml)"},
      {"--json", "", "print one JSON document on stdout"},
      {"--timeout", "DURATION", "give up after this long, as 30s or 5m"},
      {"--help", "", "show help"},
      {"--version", "", "show the version"},
  };
  return kOptions;
}

bool Arguments::flag(std::string_view option) const {
  return given_.contains(option);
}

std::optional<std::string> Arguments::value(std::string_view option) const {
  const auto found = given_.find(option);
  if (found == given_.end() || found->second.empty()) {
    return std::nullopt;
  }
  return found->second.back();
}

const std::vector<std::string>& Arguments::values(std::string_view option) const {
  static const std::vector<std::string> kNone;
  const auto found = given_.find(option);
  return found == given_.end() ? kNone : found->second;
}

std::optional<std::string> Arguments::positional(std::string_view name) const {
  return value(name);
}

const std::vector<std::string>& Arguments::many(std::string_view name) const {
  return values(name);
}

void Arguments::add(std::string_view name, std::string value) {
  given_[std::string(name)].push_back(std::move(value));
}

}  // namespace mesh::cli
