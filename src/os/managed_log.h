#pragma once

#include <cstdint>
#include <string>

namespace mesh::os {

/// The size of a file in bytes, 0 where there is none.
[[nodiscard]] std::uint64_t size_of(const std::string& file);

/// What was written to the file from `offset` on (all of it where the file is shorter by now), at
/// most the last 64 KiB; empty where it cannot be read.
[[nodiscard]] std::string tail_of(const std::string& file, std::uint64_t offset);

/// Where the log is larger than `limit`: keeps it as `log.1` and empties it. Who writes to it goes
/// on with the same file, so a line of the moment in between may be missing.
void trim_log(const std::string& log, std::uint64_t limit);

}  // namespace mesh::os
