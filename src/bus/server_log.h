#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace mesh::bus {

/// The size of a file in bytes, 0 where there is none.
[[nodiscard]] std::uint64_t size_of(const std::filesystem::path& file);

/// What a server that ended wrote last from `offset` on: its fatal line without the time, or its
/// last one; one line, fit for a terminal.
[[nodiscard]] std::string last_words(const std::filesystem::path& log, std::uint64_t offset);

/// Where the log is larger than `limit`: keeps it as `log.1` and empties it. The server goes on
/// writing to the same file, so a line of the moment in between may be missing.
void trim_log(const std::filesystem::path& log, std::uint64_t limit);

}  // namespace mesh::bus
