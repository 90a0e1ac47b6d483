#pragma once

#include "cli/context.h"
#include "cli/frame.h"

namespace mesh::cli {

/// The process's own stdin, stdout and stderr. Writes are whole and at once, never buffered.
class ProcessConsole : public Console {
 public:
  Status out(std::string_view text) override;
  void err(std::string_view text) override;
  Result<std::string> in(std::size_t most) override;
  [[nodiscard]] bool out_is_terminal() const override;
  [[nodiscard]] bool err_is_terminal() const override;
  [[nodiscard]] bool in_is_terminal() const override;
};

/// Fills the places of stdin, stdout and stderr where the caller has closed them, so that no file
/// opened later gets one and is written into; using them still fails. Call it first.
void occupy_standard_descriptors();

/// The real process: its directory, environment, signals and exec. All that is given is borrowed.
[[nodiscard]] Process this_process(os::Interrupt& interrupt, const os::Clock& clock,
                                   os::Random& random);

}  // namespace mesh::cli
