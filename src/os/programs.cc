#include "os/programs.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/text.h"

namespace mesh::os {

bool is_program(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

std::string program_on_path(std::string_view name) {
  const char* path = std::getenv("PATH");
  for (const std::string_view directory : split(path == nullptr ? "" : path, ':')) {
    const auto candidate = std::filesystem::path(directory.empty() ? "." : directory) / name;
    if (is_program(candidate.string())) {
      return candidate.string();
    }
  }
  return {};
}

}  // namespace mesh::os
