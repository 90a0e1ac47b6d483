#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace mesh::os {

/// One thread that reads the output of any number of children and hands on their lines, so that no
/// child ever waits for a full pipe.
class LinePump {
 public:
  /// Called on the pump's thread, one at a time, with a line without its end. It must not call the
  /// pump. A line longer than `kLongestLine` comes in pieces.
  using OnLine = std::function<void(std::string_view line)>;
  /// Called once, after the last line, when the other end was closed.
  using OnEnd = std::function<void()>;
  static constexpr std::size_t kLongestLine = 16384;

  /// Errors: Resource (no descriptors left).
  [[nodiscard]] static Result<std::unique_ptr<LinePump>> start();
  LinePump(const LinePump&) = delete;
  LinePump& operator=(const LinePump&) = delete;
  /// Reads what is already there, then ends the thread.
  ~LinePump();

  /// Takes over the reading end of a pipe (`std::move(process.out())`).
  void add(Fd fd, OnLine on_line, OnEnd on_end = {});

 private:
  struct Source {
    Fd fd;
    OnLine on_line;
    OnEnd on_end;
    std::string partial;
  };
  explicit LinePump(Fd wake);
  void loop();
  bool take_new();
  static bool read_some(Source& source);
  static void deliver(Source& source, bool at_end);

  Fd wake_;
  std::mutex mutex_;  // guards the two below
  std::vector<Source> arriving_;
  bool ending_ = false;
  std::vector<Source> sources_;  // the thread's own
  std::thread thread_;
};

}  // namespace mesh::os
