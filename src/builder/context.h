#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "containerfile/ignore.h"

namespace mesh::builder {

/// What a build context holds. `digest` is over every entry's path, kind, permission bits and
/// content (a link's target), in the order of the paths: two contexts with one digest give the same
/// files to a build. Times and owners count for nothing, as they do for BuildKit.
struct ContextHash {
  std::string digest{};  // 64 hexadecimal digits
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> left_out{};  // sockets, pipes and devices
};

/// Reads all of `directory` that the rules do not leave out. Nothing outside of it is read:
/// symbolic links are entries, never followed. Errors: NotFound, PermissionDenied, InvalidArgument
/// (no directory; nested more than 200 deep), Unavailable (the disk), Interrupted (`stop_fd`).
[[nodiscard]] Result<ContextHash> hash_context(const std::string& directory,
                                               const containerfile::IgnoreRules& rules,
                                               int stop_fd = -1);

/// The same, and a copy of it in `into`, which is made: what a build sees is what was hashed, and
/// what a build writes is not the operator's. Modes and times of files are kept.
[[nodiscard]] Result<ContextHash> stage_context(const std::string& directory,
                                                const containerfile::IgnoreRules& rules,
                                                const std::string& into, int stop_fd = -1);

/// What a link at `path` leads to; nothing where `path` is no link. Errors: NotFound.
using ReadLink = std::function<Result<std::optional<std::string>>(const std::string& path)>;

/// `path` with each link on it replaced by what it leads to, tidied; both are relative to a folder
/// that they must not leave. Errors: InvalidArgument (a link leads out, or they go in a circle);
/// those of `read`.
[[nodiscard]] Result<std::string> without_links(const std::string& path, const ReadLink& read);

/// The same of a path within a staged context, which nobody else writes to. Errors: also NotFound.
[[nodiscard]] Result<std::string> find_in_context(const std::string& context,
                                                  const std::string& path);

}  // namespace mesh::builder
