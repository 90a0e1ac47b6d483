#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text.h"
#include "model/read.h"
#include "tests/support/map_files.h"

namespace mesh::test {

/// Bytes as the files of a mesh: mesh.toml, a/module.toml, a/in.json, b/module.toml, parted by a
/// line of `%%`.
inline MapFiles files_of(std::string_view bytes) {
  MapFiles files;
  for (const auto* name : {"mesh.toml", "a/module.toml", "a/in.json", "b/module.toml"}) {
    static constexpr std::string_view kPart = "%%\n";
    const auto at = bytes.find(kPart);
    files.set(name, std::string(bytes.substr(0, at)));
    bytes = at == std::string_view::npos ? std::string_view() : bytes.substr(at + kPart.size());
  }
  return files;
}

/// Reads arbitrary bytes as a mesh; false where the answer contradicts itself: a mesh beside an
/// error, neither, or a problem that is not one line of text.
inline bool reads_well(std::string_view bytes) {
  const auto reading = model::read_mesh(files_of(bytes));
  const auto one_line = [](const model::Problem& problem) {
    const auto text = model::to_text(problem);
    return !problem.code.empty() && is_utf8(text) &&
           std::ranges::none_of(text, [](char c) { return c == '\n' || c == '\0' || c == '\x1b'; });
  };
  return reading.mesh.has_value() != model::has_errors(reading.problems) &&
         std::ranges::all_of(reading.problems, one_line);
}

}  // namespace mesh::test
