#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mesh::os {

/// A piece of a log that a LogFile writes (`path` and the older `path.1`).
struct LogLines {
  std::vector<std::string> lines;  // without their ends, oldest first
  std::string next;                // the cursor after them
};

/// At most `most` whole lines after `cursor`, and not much more than 1 MiB of them; with an empty
/// cursor the last `most`. A cursor names a file, not a name, so that it holds when the log begins
/// anew; where what it names is gone by now, reading goes on with the oldest line that is kept. No
/// log yet is no line. Errors: InvalidArgument (not a cursor), PermissionDenied, Resource.
[[nodiscard]] Result<LogLines> read_log(const std::string& path, std::string_view cursor,
                                        std::size_t most);

}  // namespace mesh::os
