#include "model/paths.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace mesh::model {

Result<std::string> parse_relative_path(std::string_view text) {
  if (text.empty()) {
    return fail(Code::InvalidArgument, "a path may not be empty", "\".\" is the folder itself");
  }
  if (text.starts_with('/')) {
    return fail(Code::InvalidArgument,
                fmt::format("\"{}\" must be relative to this file", printable(text)));
  }
  std::string out;
  for (const auto part : split(text, '/')) {
    if (!part.empty() && part != ".") {
      out = join_path(out, part);
    }
  }
  return out;
}

Result<std::string> parse_inner_path(std::string_view text) {
  MESH_CHECK(parse_relative_path(text));
  const auto parts = split(text, '/');
  if (std::ranges::find(parts, "..") != parts.end()) {
    return fail(Code::InvalidArgument,
                fmt::format("\"{}\" leaves the module's folder", printable(text)),
                "only what is in the folder comes along when the module moves");
  }
  return std::string(text);
}

std::string join_path(std::string_view folder, std::string_view name) {
  return folder.empty() ? std::string(name) : fmt::format("{}/{}", folder, name);
}

}  // namespace mesh::model
