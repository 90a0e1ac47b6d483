#pragma once

#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "converge/units.h"

namespace mesh::host {

/// One thread for each module that is being changed, and none otherwise: a stop may take its grace,
/// a pull minutes, and the modules are independent.
class Workers {
 public:
  Workers() = default;
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  /// Waits for those that run.
  ~Workers();

  [[nodiscard]] bool busy(const std::string& key) const { return threads_.contains(key); }
  [[nodiscard]] bool idle() const { return threads_.empty(); }
  /// Runs `work` on a thread of its own; `key` must not be busy, and stays so until `done`.
  void run(const std::string& key, std::function<void()> work);
  /// The work of `key` has said that it ended: takes its thread back.
  void done(const std::string& key);

 private:
  std::map<std::string, std::thread> threads_;
};

}  // namespace mesh::host
