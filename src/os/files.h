#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace mesh::os {

inline constexpr mode_t kPrivateFile = 0600;
inline constexpr mode_t kPrivateDir = 0700;

/// The file's bytes; symbolic links are followed. Errors: NotFound, PermissionDenied,
/// InvalidArgument (larger than `most` bytes, or not a regular file), Resource (the disk).
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::size_t most);

/// As `read_file`, for a file that holds a secret: it must be a regular file itself (no symbolic
/// link), belong to the caller or to root, and be closed to group and others. Errors: as above, and
/// PermissionDenied with the command that repairs it.
[[nodiscard]] Result<std::string> read_private_file(const std::string& path, std::size_t most);

/// The check that `read_private_file` makes, for a file that somebody else will open. Errors:
/// NotFound, PermissionDenied.
[[nodiscard]] Status check_private_file(const std::string& path);

/// The mode of a file that holds nothing secret.
inline constexpr mode_t kOrdinaryFile = 0644;

/// Replaces `path` by `bytes` so that after a crash either the old file or the whole new one is
/// there: a temporary file beside it, fsync, rename, fsync of the directory. `mode` is the new
/// file's, whatever the umask. A symbolic link at `path` is replaced, never followed. Errors:
/// NotFound (no such directory), PermissionDenied, Resource (disk full, I/O).
[[nodiscard]] Status write_file_atomic(const std::string& path, std::string_view bytes,
                                       mode_t mode);

/// As `write_file_atomic`, but a file that is there already stays as it is: of several that write
/// it at once the first one's is kept, and all succeed.
[[nodiscard]] Status write_new_file(const std::string& path, std::string_view bytes, mode_t mode);

/// The file that whoever replaces `path` means: symbolic links are followed, also where they lead
/// to nothing yet. Errors: InvalidArgument where something stands there that is no regular file (a
/// directory, a device, a pipe).
[[nodiscard]] Result<std::string> file_to_replace(const std::string& path);

/// Makes `path` a directory of mode 0700, and its missing parents (mode 0755 by the umask). One
/// that exists must be a real directory of the caller's; group and others are closed out of it.
/// Errors: PermissionDenied, InvalidArgument (something else stands there), Resource.
[[nodiscard]] Status make_private_dir(const std::string& path);

/// Makes `path` and its missing parents, each with `mode`; one that exists is left as it is.
[[nodiscard]] Status make_dirs(const std::string& path, mode_t mode = 0755);

/// Removes a file, or a directory and all in it, without following symbolic links. What is not
/// there is no error. Errors: PermissionDenied, Resource.
[[nodiscard]] Status remove_tree(const std::string& path);

/// True where something is at `path` (a dangling symbolic link too).
[[nodiscard]] bool exists(const std::string& path);

/// True where `path` is a directory with nothing in it.
[[nodiscard]] bool is_empty_dir(const std::string& path);

/// Flushes a directory's entries to the disk. Errors: NotFound, PermissionDenied, Resource.
[[nodiscard]] Status sync_dir(const std::string& path);

/// A new directory of mode 0700 in `parent`, its name beginning with `prefix`. The caller removes
/// it.
[[nodiscard]] Result<std::string> make_temp_dir(const std::string& parent,
                                                const std::string& prefix);

/// The directory part of `path`: `.` where there is none.
[[nodiscard]] std::string dir_name(const std::string& path);

}  // namespace mesh::os
