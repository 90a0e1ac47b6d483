#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/outcome.h"
#include "os/clock.h"
#include "os/interrupt.h"
#include "os/random.h"

namespace mesh::cli {

/// Where a verb prints and reads. Results of a verb that ends are in its Outcome; this is for what
/// is shown on the way: progress, and the lines of a verb that goes on (`tap`).
class Console {
 public:
  Console() = default;
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;
  virtual ~Console() = default;
  /// Writes to stdout at once. Errors: Unavailable (a pipe that nobody reads), Resource.
  virtual Status out(std::string_view text) = 0;
  /// Writes to stderr; a failure is of no interest.
  virtual void err(std::string_view text) = 0;
  /// All of stdin, byte for byte. Errors: InvalidArgument where it is more than `most` bytes.
  virtual Result<std::string> in(std::size_t most) = 0;
  [[nodiscard]] virtual bool out_is_terminal() const = 0;
  [[nodiscard]] virtual bool err_is_terminal() const = 0;
  [[nodiscard]] virtual bool in_is_terminal() const = 0;
};

/// What a verb runs in.
struct Context {
  Console& console;
  os::Interrupt& interrupt;
  const os::Clock& clock;
  os::Random& random;
  /// The environment variable of that name.
  std::function<std::optional<std::string>(const std::string&)> variable;
  std::string directory;             // absolute: where the search for mesh.toml begins (-C)
  std::optional<std::string> state;  // --state as given
  std::optional<std::chrono::milliseconds> timeout;
  bool json = false;
  /// Set by `declarations` where they are invalid: what is printed in place of the verb's outcome.
  std::optional<Outcome> invalid = {};

  /// --timeout, or `usual` where it is not given.
  [[nodiscard]] std::chrono::milliseconds within(std::chrono::milliseconds usual) const {
    return timeout.value_or(usual);
  }
  /// `path` as given on the command line, made absolute.
  [[nodiscard]] std::string absolute(std::string_view path) const;
  [[nodiscard]] bool colour_out() const;
  [[nodiscard]] bool colour_err() const;
  /// One line of progress or a remark, on stderr.
  void say(std::string_view line) const;
};

}  // namespace mesh::cli
