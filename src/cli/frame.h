#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/context.h"
#include "cli/verbs.h"

namespace mesh::cli {

/// What the frame needs of the process.
struct Process {
  const os::Clock& clock;
  os::Random& random;
  std::string directory;  // the working directory, absolute
  std::function<std::optional<std::string>(const std::string&)> variable;
  /// Replaces this program (never returns on success): the exit code of the failure.
  std::function<int(const Exec&)> exec;
  /// Called once the verb is known: whether it ends itself when interrupted.
  std::function<void(bool ends_itself)> watch_signals;
};

/// Parses `words`, runs the verb, prints its outcome: the exit code.
int run(std::span<const std::string> words, std::span<const Verb> verbs, Console& console,
        os::Interrupt& interrupt, const Process& process);

inline constexpr const char* kVersion = MESH_VERSION;

}  // namespace mesh::cli
