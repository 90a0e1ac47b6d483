#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace mesh::builder {

/// `mesh.lock`: what tags resolved to, so that every build is of the same bases until `mesh build
/// --update`. It is kept in git beside mesh.toml: sorted, a line for each image.
struct LockFile {
  std::map<std::string, std::string> images{};  // `docker.io/library/debian:12` -> `sha256:…`
  friend bool operator==(const LockFile&, const LockFile&) = default;

  /// An empty text is an empty lock. Errors: Corrupt, with a place in `file` (not of the form,
  /// written by a later version, a name or digest that is none; a conflict of git is called so).
  [[nodiscard]] static Result<LockFile> parse(std::string_view text, const std::string& file);
  /// The file's text; parses to the same lock.
  [[nodiscard]] std::string text() const;
};

}  // namespace mesh::builder
