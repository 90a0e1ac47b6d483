#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/process.h"

namespace mesh::builder {

/// A program whose output is kept in a file, line by line.
struct LoggedOptions {
  std::vector<std::string> argv{};
  os::Environment environment{};
  std::string directory{};
  std::string log{};                   // appended to; at most two files of 4 MiB
  std::vector<std::string> secrets{};  // never reach the log or a caller: `***` stands for each
  std::string left_out{};              // lines that begin so are dropped; empty: none
  os::Milliseconds timeout{};
  int stop_fd = -1;
  std::function<void(std::string_view line)> on_line{};  // on another thread, one at a time
};

struct LoggedResult {
  os::ExitStatus status{};
  std::vector<std::string> last_lines{};  // at most `kLastLines`
};
inline constexpr std::size_t kLastLines = 30;

/// Runs it to its end; an exit code that is not 0 is no error. The program and all that it started
/// are ended when the time is over, `stop_fd` is readable, or the caller's thread ends. Errors: as
/// os::Process::spawn; Timeout; Interrupted; Unavailable (the log).
[[nodiscard]] Result<LoggedResult> run_logged(const LoggedOptions& options);

/// `line` with `***` for each of `secrets` (and for each of their lines of four characters or
/// more).
[[nodiscard]] std::string redacted(std::string_view line, const std::vector<std::string>& secrets);

}  // namespace mesh::builder
