#pragma once

#include <mutex>
#include <string>

#include "engine/container.h"
#include "os/fd.h"

namespace mesh::engine {

/// Hears that containers with certain labels have started, ended or gone, without a thread and
/// without reading what exactly: it holds one connection, and its descriptor is readable when
/// something came or the connection is gone.
class Events {
 public:
  /// Does not dial yet.
  Events(std::string socket, Labels labels);
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  /// For poll; the same for the object's life. While no connection could be had it is not readable:
  /// whoever cannot `list` has to ask again by the clock.
  [[nodiscard]] int descriptor() const { return watch_.get(); }

  /// To be called before looking at the containers: takes what has come, and dials anew where the
  /// connection is gone. True where nothing has happened since the last call.
  [[nodiscard]] bool drain();

 private:
  void dial();
  bool read_away();

  std::string socket_;
  Labels labels_;
  os::Fd watch_;      // an epoll descriptor
  std::mutex mutex_;  // guards what is below
  os::Fd connection_;
};

}  // namespace mesh::engine
