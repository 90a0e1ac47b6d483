#pragma once

#include <memory>
#include <string>
#include <thread>

#include "base/result.h"
#include "os/fd.h"

namespace mesh::host {

/// Carries bytes between an address that containers on the bridge reach and the same port of this
/// machine's loopback, where the bus listens: nothing of them is looked at. One thread, bounded
/// memory. Containers reconnect by themselves when the host was away.
class Relay {
 public:
  /// Listens on `address` (an address of this machine, which need not be up yet) and `port`.
  /// Errors: Conflict (the port is taken there), Resource.
  [[nodiscard]] static Result<std::unique_ptr<Relay>> start(const std::string& address, int port);
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  ~Relay();

 private:
  Relay(os::Fd listener, os::Fd stop, int port);
  void loop();

  os::Fd listener_;
  os::Fd stop_;
  int port_;
  std::thread thread_;
};

/// The port of a bus URL whose host is this machine's loopback; 0 where it is elsewhere.
[[nodiscard]] int loopback_port(const std::string& url);

}  // namespace mesh::host
