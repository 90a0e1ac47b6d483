#pragma once

#include <poll.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "converge/units.h"
#include "os/clock.h"
#include "os/fd.h"

namespace mesh::host {

/// Health checks by TCP and HTTP, many at once on one thread and without waiting: a connection that
/// is made (tcp), or a GET that is answered with a status of 200 to 399 (http). Its owner polls the
/// descriptors and calls `go_on`.
class Prober {
 public:
  struct Check {
    converge::UnitName name;
    std::string host;  // an address, not a name
    int port = 0;
    std::optional<std::string> path;  // of an HTTP check
    os::Milliseconds timeout{2000};
  };
  /// `because` says why it failed; empty where it did not.
  using OnDone = std::function<void(const converge::UnitName& name, const std::string& because)>;

  explicit Prober(OnDone on_done) : on_done_(std::move(on_done)) {}

  /// Begins one; one of the same unit that is under way is given up without a word.
  void begin(Check check, os::Monotonic now);
  /// Forgets what is under way for a unit.
  void drop(const converge::UnitName& name);
  /// Adds what is waited for.
  void add_to(std::vector<pollfd>& polled) const;
  /// Goes on where something is ready or late. `on_done` is called from here.
  void go_on(os::Monotonic now);
  [[nodiscard]] std::optional<os::Monotonic> next() const;

 private:
  enum class Stage { Connecting, Sending, Reading };
  struct Probe {
    Check check;
    os::Fd fd;
    Stage stage = Stage::Connecting;
    std::string out;  // to be sent
    std::string in;
    os::Monotonic deadline;
  };
  /// Nothing while it goes on; otherwise why it failed, empty where it did not.
  static std::optional<std::string> advance(Probe& probe);

  OnDone on_done_;
  std::vector<Probe> probes_;
};

}  // namespace mesh::host
