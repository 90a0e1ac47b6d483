#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "bus/connection.h"
#include "model/names.h"
#include "os/clock.h"

namespace mesh::host {

/// How the node dials the bus. The passwords are tried in their order.
struct UplinkOptions {
  model::NodeName node;
  std::vector<std::string> urls;
  std::string ca;
  std::vector<std::string> passwords;
  friend bool operator==(const UplinkOptions&, const UplinkOptions&) = default;
};

/// The node's connection to the bus: kept up for ever by a thread of its own, whatever the bus
/// does. What comes is handed on from the bus' threads.
class Uplink {
 public:
  struct Handlers {
    std::function<void(bus::Message)> declared;  // from the node's consumer, to be acknowledged
    std::function<void(bus::Message)> asked;  // to be answered at `reply`; empty: nobody is asked
    /// A login succeeded with the n-th password, or the last attempt's error; said once for each
    /// change.
    std::function<void(Result<std::size_t>)> link;
  };

  Uplink(UplinkOptions options, Handlers handlers);
  Uplink(const Uplink&) = delete;
  Uplink& operator=(const Uplink&) = delete;
  ~Uplink();

  /// From now on it dials like this; where that is another way, a connection that is up is made
  /// anew.
  void change(UplinkOptions options);
  /// Errors: Unavailable (no connection now), as bus::Connection::publish.
  [[nodiscard]] Status publish(std::string_view subject, std::string_view payload);
  /// Returns when the bus has all that was published. Errors: Unavailable, Timeout.
  [[nodiscard]] Status flush();

 private:
  struct Live;
  void loop();
  [[nodiscard]] Result<std::size_t> connect_once(const UplinkOptions& options);
  [[nodiscard]] Status subscribe(const UplinkOptions& options);
  void tell(Result<std::size_t> link);

  Handlers handlers_;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  UplinkOptions options_;
  std::shared_ptr<Live> live_;
  bool again_ = false;  // dial anew
  bool ending_ = false;
  std::optional<std::string> told_;  // the last thing that `link` heard
  std::thread thread_;
};

}  // namespace mesh::host
