#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace mesh::host {

/// What other threads have for the agent's own: each piece runs there, in the order of `post`.
class Mailbox {
 public:
  using Work = std::function<void()>;
  /// Errors: Resource (no descriptors left).
  [[nodiscard]] static Result<std::unique_ptr<Mailbox>> make();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  ~Mailbox() = default;

  /// From any thread.
  void post(Work work);
  /// Readable while there is something.
  [[nodiscard]] int descriptor() const { return wake_.get(); }
  /// Runs what is there, on the calling thread.
  void run();

 private:
  explicit Mailbox(os::Fd wake) : wake_(std::move(wake)) {}
  os::Fd wake_;
  std::mutex mutex_;
  std::vector<Work> posted_;
};

}  // namespace mesh::host
