#include <sys/stat.h>

#include <filesystem>

#include "base/text.h"
#include "controller/workspace.h"
#include "os/files.h"

namespace mesh::controller {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestIgnore = 1U << 20U;

/// The line without what does not change its meaning here: slashes around it, white space behind.
std::string_view core(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '/')) {
    line.remove_suffix(1);
  }
  if (line.starts_with('/')) {
    line.remove_prefix(1);
  }
  return line;
}

bool names(std::string_view text, std::string_view directory) {
  const auto lines = split(text, '\n');
  return std::ranges::any_of(lines, [&](std::string_view line) { return core(line) == directory; });
}

mode_t mode_of(const std::string& path) {
  struct stat found{};
  return stat(path.c_str(), &found) == 0 ? found.st_mode & 0777U : os::kOrdinaryFile;
}

}  // namespace

Result<bool> ignore_state(const Location& location) {
  const auto relative = fs::path(location.state).lexically_relative(location.root);
  if (relative.empty() || relative == "." || *relative.begin() == "..") {
    return false;
  }
  MESH_TRY(const auto path, os::file_to_replace(location.root + "/.gitignore"));
  std::string text;
  if (os::exists(path)) {
    MESH_TRY(text, os::read_file(path, kLargestIgnore));
  }
  if (names(text, relative.string())) {
    return false;
  }
  if (!text.empty() && !text.ends_with('\n')) {
    text += '\n';
  }
  text += relative.string() + "/\n";
  MESH_CHECK(os::write_file_atomic(path, text, mode_of(path)));
  return true;
}

}  // namespace mesh::controller
