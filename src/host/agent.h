#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "declaration/report.h"
#include "host/allowance.h"
#include "host/identity.h"
#include "host/machine.h"
#include "host/mailbox.h"
#include "host/store.h"
#include "host/uplink.h"
#include "os/clock.h"
#include "os/interrupt.h"
#include "os/lock.h"
#include "os/random.h"

namespace mesh::host {

struct AgentOptions {
  std::string state = "/var/lib/mesh-host";
  std::string config = "/etc/mesh/host.toml";
  std::string engine;      // a socket; empty: the usual ones
  std::string checkout;    // where mesh.toml is on this machine; empty: nowhere
  bool allow_run = false;  // where there is no config
  std::function<void(std::string_view)> say;
};

/// One node's agent: hears its declaration, brings the machine to it, reports. Everything of it
/// happens on the thread that calls `run`; the bus' threads and those of steps talk to it through
/// the mailbox.
class Agent {
 public:
  /// Takes the state's lock. Errors: NotFound (the machine has not joined), Conflict (another
  /// mesh-host runs), InvalidArgument (host.toml), those of the state's files.
  [[nodiscard]] static Result<std::unique_ptr<Agent>> open(AgentOptions options,
                                                           const os::Clock& clock,
                                                           os::Random& random);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;
  ~Agent();

  /// Until `interrupt`. What runs is left running.
  Status run(const os::Interrupt& interrupt);
  /// Until the mesh has accepted this machine: a declaration came. Errors: Timeout, Interrupted,
  /// what the bus said last.
  Status join(const os::Interrupt& interrupt, os::Milliseconds timeout);
  /// Stops and removes all that runs here.
  Status stop_all(StopAll how);

 private:
  Agent(AgentOptions options, Allowance allowance, Identity identity, Store store, os::Lock lock,
        std::unique_ptr<Mailbox> mailbox, const os::Clock& clock, os::Random& random);
  Status start_machine();
  void start_uplink();
  [[nodiscard]] UplinkOptions uplink_options() const;
  void on_declared(const bus::Message& message);
  void on_asked(const bus::Message& message);
  void on_link(const Result<std::size_t>& link);
  Status take(const std::string& envelope);
  Status adopt(const Opened& opened, const secrets::PublicKey& controller);
  [[nodiscard]] std::string answer(const std::string& question);
  void wait(const os::Interrupt& interrupt, os::Monotonic until) const;
  void report_if_due(bool now);
  [[nodiscard]] declaration::Report report();
  void say(const std::string& line) const;

  AgentOptions options_;
  Allowance allowance_;
  Identity identity_;
  Store store_;
  os::Lock lock_;
  std::unique_ptr<Mailbox> mailbox_;
  const os::Clock& clock_;
  std::string incarnation_;
  std::uint64_t sequence_ = 0;
  std::optional<declaration::Report> reported_;  // the last one, but for its time and sequence
  os::Monotonic reported_at_{};
  bool up_ = false;
  std::optional<Error> link_error_;
  std::optional<declaration::Refusal> refused_;
  std::unique_ptr<Machine> machine_;
  std::unique_ptr<Uplink> uplink_;  // last: its threads post to the mailbox
};

/// Writes the identity that `token` makes of this machine, or finds that it has it already. Errors:
/// Conflict (the machine has joined, or joins with another token), InvalidArgument (expired).
[[nodiscard]] Status begin_join(const std::string& state, const declaration::Token& token,
                                const os::Clock& clock, os::Random& random);

}  // namespace mesh::host
