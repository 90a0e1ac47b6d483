#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "containerfile/file.h"
#include "containerfile/variables.h"

namespace mesh::containerfile {

/// Where a path of the build context really is: the path that no link stands on, relative to the
/// context. It is given paths that are tidied, without `/` in front. Errors: a link that leaves the
/// context, nothing there.
using ContextPaths = std::function<Result<std::string>(const std::string& path)>;

/// A mount's value for the builder. Every variable is replaced here, since buildah 1.28 parts the
/// fields after it replaced them; a path of the context is what `paths` says, since buildah follows
/// links out of it; the id of a cache is a plain name, since it makes a path of it. `from` is the
/// builder's word for what it mounts from, empty where that is nothing. Errors: InvalidArgument (a
/// value that cannot be spelled, or depends on an image that was not looked at); those of `paths`.
[[nodiscard]] Result<std::string> mount_text(const Mount& mount, const std::string& from,
                                             const Variables& variables, const ContextPaths& paths);

/// A mount's source as a COPY is told it: tidied, with `/` in front. Errors: InvalidArgument, as
/// above, and of a source that would be a pattern.
[[nodiscard]] Result<std::string> source_to_copy(const Mount& mount, const Variables& variables);

/// A name for a cache that is the same for the same `id` and never a path.
[[nodiscard]] std::string cache_name(std::string_view id);

/// Whether a mount's source is all of what it mounts from.
[[nodiscard]] bool is_whole(std::string_view source);

}  // namespace mesh::containerfile
