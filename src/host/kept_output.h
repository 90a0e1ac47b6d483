#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "os/fd.h"
#include "os/log_file.h"

namespace mesh::host {

/// What a command prints, on its way from a pipe into the bounded log of its unit, in whole lines.
class KeptOutput {
 public:
  /// The longest line; a longer one becomes several.
  static constexpr std::size_t kLongestLine = 16384;

  /// `size` bytes are kept at most, in two files. Errors: those of the log.
  [[nodiscard]] static Result<KeptOutput> open(os::Fd reading, const std::string& log,
                                               std::int64_t size);

  /// Readable when there is something to take; -1 after the end.
  [[nodiscard]] int descriptor() const { return reading_.get(); }
  /// Takes what is there now.
  void take();
  /// Takes what is there and the line that has no end.
  void finish();

 private:
  KeptOutput(os::Fd reading, os::LogFile log, std::size_t most);
  bool take_some();
  void write_lines();

  os::Fd reading_;
  os::LogFile log_;
  std::size_t most_;  // of one write
  std::string pending_;
};

}  // namespace mesh::host
