#pragma once

// The cursors of a container's log. Included by the driver's sources alone.

#include <optional>
#include <vector>

#include "engine/engine.h"
#include "host/driver.h"

namespace mesh::host {

/// A cursor is the time of the last line that was read and how many lines of that time were: podman
/// writes whole seconds. An engine is asked for everything since that second; `log_piece` leaves
/// out what was read. Errors: InvalidArgument (no cursor of ours).
[[nodiscard]] Result<engine::LogQuery> log_query(const LogCursor& cursor, std::size_t most);
/// The last lines of a log without a cursor may all be of one time, of which there are more: then
/// what to ask for to count them.
[[nodiscard]] Result<std::optional<engine::LogQuery>> whole_burst(
    const std::vector<engine::LogLine>& lines, const LogCursor& cursor, std::size_t most);
/// The last `most`, with a cursor behind all.
[[nodiscard]] LogPiece last_piece(std::vector<engine::LogLine> lines, std::size_t most);
[[nodiscard]] LogPiece log_piece(std::vector<engine::LogLine> lines, const LogCursor& cursor,
                                 std::size_t most);

}  // namespace mesh::host
