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
  while (!text.empty()) {
    const auto part = text.substr(0, text.find('/'));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    if (!part.empty() && part != ".") {
      out += out.empty() ? "" : "/";
      out += part;
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
  std::string out(folder);
  out += folder.empty() ? "" : "/";
  return out += name;
}

}  // namespace mesh::model
