#pragma once

#include <poll.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "controller/workspace.h"
#include "inventory/state.h"
#include "model/declarations.h"
#include "os/clock.h"
#include "os/interrupt.h"
#include "os/process.h"

/// The machines of a mesh that are this one: a `mesh-host` for each node that no other machine has
/// joined. The state of each is in `.mesh/hosts/<node>`.
namespace mesh::controller {

struct LocalHostsOptions {
  std::string program;   // mesh-host
  std::string engine;    // a socket; empty: the usual one
  std::string checkout;  // the directory of mesh.toml
};

/// `mesh-host` beside this program, or of PATH. Errors: NotFound.
[[nodiscard]] Result<std::string> mesh_host_program();

/// How what runs of a node is stopped.
struct StopHow {
  bool volumes = false;  // its volumes go as well
  bool now = false;      // the graces are over
};

/// One node of this machine.
class LocalHost {
 public:
  enum class Stage {
    Waiting,    // to be started when it is due
    Joining,    // `mesh-host join` runs
    Running,    // `mesh-host run` runs
    Elsewhere,  // another machine is this node, or is invited to be
  };

  LocalHost(std::string node, std::string directory, const LocalHostsOptions& options,
            const Say& say)
      : node_(std::move(node)), directory_(std::move(directory)), options_(options), say_(say) {}

  /// Starts what is due and notices what ended.
  void tick(inventory::State& state, const Location& location, const model::Mesh& mesh,
            Edges edges);
  [[nodiscard]] Stage stage() const { return stage_; }
  [[nodiscard]] const std::string& node() const { return node_; }
  [[nodiscard]] int descriptor() const { return process_ ? process_->pidfd() : -1; }

  /// Ends `mesh-host`; what runs of the node goes on.
  void end_agent();
  /// Begins to stop and remove what runs of the node, or to do that another way; `has_stopped`
  /// tells when it is done.
  void begin_stop(StopHow how);
  [[nodiscard]] std::optional<Status> has_stopped();

 private:
  [[nodiscard]] Status start(inventory::State& state, const Location& location,
                             const model::Mesh& mesh, Edges edges);
  [[nodiscard]] Status join(inventory::State& state, const Location& location,
                            const model::Mesh& mesh, Edges edges);
  [[nodiscard]] std::vector<std::string> words(std::vector<std::string> verb) const;
  [[nodiscard]] Status spawn(std::vector<std::string> verb, const std::string& input = {});
  [[nodiscard]] std::string last_words() const;
  [[nodiscard]] std::string log_file() const;
  void back_off(const std::string& why, os::Monotonic now);
  void elsewhere(const std::string& why);
  void say(const std::string& why);  // once

  std::string node_;
  std::string directory_;
  const LocalHostsOptions& options_;
  const Say& say_;
  Stage stage_ = Stage::Waiting;
  std::optional<os::Process> process_;
  os::Monotonic started_{};
  os::Monotonic due_{};
  os::Milliseconds delay_{0};
  std::string said_;
};

/// All of them. `state` is borrowed; its owner calls `tick`.
class LocalHosts {
 public:
  /// Ends the agents that a `mesh up` that died left behind; what runs of their nodes goes on.
  LocalHosts(inventory::State& state, Location location, Edges edges, LocalHostsOptions options,
             Say say);
  LocalHosts(const LocalHosts&) = delete;
  LocalHosts& operator=(const LocalHosts&) = delete;
  ~LocalHosts();

  /// From now on these are the declared nodes. What ran of one that is gone stops.
  [[nodiscard]] Status follow(model::Mesh mesh);
  /// To be called often.
  void tick();
  /// The nodes of this machine, sorted.
  [[nodiscard]] std::vector<std::string> nodes() const;
  /// What `tick` waits for.
  void add_to(std::vector<pollfd>& polled) const;

  /// Stops everything of all nodes; where `interrupt` insists the graces are over. Volumes stay.
  [[nodiscard]] Status stop(const os::Interrupt& interrupt);

 private:
  inventory::State& state_;
  Location location_;
  Edges edges_;
  LocalHostsOptions options_;
  Say say_;
  std::optional<model::Mesh> mesh_;
  std::map<std::string, LocalHost> hosts_;  // by node
};

/// Stops and removes everything that runs here of this state's nodes, with their volumes where
/// `volumes`; no `mesh up` runs. False where there was no node. Errors: what the first mesh-host
/// that failed said.
[[nodiscard]] Result<bool> stop_local_hosts(const inventory::StatePaths& paths, bool volumes);

}  // namespace mesh::controller
