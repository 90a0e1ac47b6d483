#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/place.h"
#include "model/names.h"

/// What an operator declares, as values. Made by `read_mesh` (read.h), which reports every problem;
/// what stands here is checked, so nothing behind it checks again.
namespace mesh::model {

using Milliseconds = std::chrono::milliseconds;

/// A value and where it was written.
template <class T>
struct Located {
  T value;
  Place place{};
};

/// A value of `env`: text, or the name of a secret.
struct EnvValue {
  std::string text{};  // the value, or the secret's name
  bool secret = false;
  Place place{};
};
using Env = std::map<std::string, EnvValue>;

struct BusSettings {
  bool managed = true;
  std::optional<std::string> listen{};   // as declared; HOST:PORT
  std::vector<std::string> advertise{};  // URLs as declared; empty: from `listen`
  std::optional<std::string> program{};
  int replicas = 1;
  bool insecure = false;
  std::optional<std::string> config{};  // external: the file that Mesh owns
  std::vector<std::string> test{};      // external: a command, argv
  std::vector<std::string> reload{};    // external: a command, argv
  std::optional<std::string> ca{};
  Place place{};

  /// `listen` or its default, 127.0.0.1:4222.
  [[nodiscard]] std::string listen_or_default() const;
  /// Whether Mesh's own server speaks TLS: it does wherever it can be reached from outside, unless
  /// `insecure` is set. Of an external one its URLs say so.
  [[nodiscard]] bool tls() const;
  /// What principals dial: `advertise`, or `listen`; `tls://` where Mesh's own server speaks it.
  [[nodiscard]] std::vector<std::string> urls() const;
};

struct EventsSettings {
  Milliseconds keep{};
  std::int64_t per_event = 0;  // messages of each subject
  std::int64_t largest = 0;    // bytes
  std::int64_t disk = 0;       // bytes
  Milliseconds duplicates{};
  Place place{};
};

/// How work and events are delivered; a seat has its own, modules share `[delivery]`.
struct Delivery {
  Milliseconds within{};
  int attempts = 0;
  std::vector<Milliseconds> backoff{};
  int in_flight = 0;
  Place place{};
};

struct RegistrySettings {
  bool managed = true;
  std::string listen{};
  std::optional<std::string> advertise{};
  bool insecure = false;
  std::optional<std::string> ca{};
  bool declared = false;  // whether [registry] stands in the file
  Place place{};

  /// Whether Mesh's own registry speaks TLS and asks for a login, by the rule of the bus.
  [[nodiscard]] bool tls() const;
};

struct Upstream {
  bool insecure = false;
  std::optional<std::string> ca{};
  std::optional<std::string> mirror{};
  Place place{};
};

struct Node {
  NodeName name;
  std::optional<std::string> bus{};
  std::optional<std::string> registry{};
  Env env{};
  Place place{};
};

struct Seat {
  SeatName name;
  std::vector<Located<VerbName>> accepts{};
  std::vector<Located<EventName>> emits{};
  std::map<VerbName, std::vector<Located<EventRef>>> from{};
  Delivery delivery{};
  Place place{};
};

/// Where a consumer starts when it is first raised.
struct From {
  enum class Kind { New, All, Age };
  Kind kind = Kind::New;
  Milliseconds age{};  // with Age: how far back
};

struct Consume {
  EventRef event{};
  From from{};
  Place place{};
};

struct Tool {
  ToolName name;
  std::string description{};
  std::optional<std::string> input{};  // the schema's file as written, relative to the module
  std::optional<std::string> input_schema{};  // its text
  Milliseconds timeout{};
  Place place{};
};

struct Build {
  std::string context{};
  std::optional<std::string> containerfile{};
  std::optional<std::string> target{};
  std::map<std::string, std::string> args{};
  std::vector<std::string> secrets{};
  std::vector<std::string> platforms{};
};

struct Port {
  std::string address{};  // the host's address to listen on
  int host = 0;           // 0: a free one
  int container = 0;
  bool udp = false;
  Place place{};
};

struct Volume {
  std::string source{};  // a name, or an absolute host path
  std::string target{};
  bool read_only = false;
  Place place{};
};

struct Health {
  enum class Kind { Http, Tcp, Command };
  Kind kind = Kind::Tcp;
  std::string http{};                  // the path
  std::vector<std::string> command{};  // argv
  int port = 0;
  Milliseconds interval{};
  Milliseconds timeout{};
  int retries = 0;
  Milliseconds start{};
  Place place{};
};

enum class Restart { Always, OnFailure, Never };

struct Component {
  ComponentName name;
  // Exactly one of these three is set.
  std::optional<Build> build{};
  std::optional<std::string> image{};
  std::vector<std::string> run{};
  std::vector<std::string> command{};
  std::vector<std::string> entrypoint{};
  std::optional<std::string> user{};
  Env env{};
  std::vector<Located<std::string>> secrets{};
  std::map<std::string, std::string> files{};  // path in the container -> file beside module.toml
  std::map<std::string, std::string> file_bytes{};  // path in the container -> what is in it
  std::vector<Port> ports{};
  std::vector<Volume> volumes{};
  std::vector<std::string> devices{};
  std::string network = "bridge";
  std::vector<std::string> capabilities{};
  bool read_only = false;
  std::vector<std::string> tmpfs{};
  std::optional<std::int64_t> memory{};  // bytes
  std::optional<double> cpus{};
  std::optional<int> pids{};
  bool init = true;
  Milliseconds grace{};
  std::int64_t log_size = 0;  // bytes
  Restart restart = Restart::Always;
  std::vector<std::string> after{};  // components of the same module
  std::optional<Health> health{};
  Place place{};
};

/// One `module.toml`. Several modules may share one.
struct ModuleFile {
  std::string description{};
  std::vector<Located<EventName>> emits{};
  std::map<EventName, Located<std::string>> subjects{};  // an event's own name for this module
  std::vector<Consume> consumes{};
  std::vector<Located<SeatName>> holds{};
  std::vector<Located<VerbRef>> uses{};
  std::vector<Located<ToolRef>> calls{};
  std::vector<Tool> tools{};
  std::vector<Component> components{};
  Place place{};
};

struct Module {
  ModuleName name;
  std::string path{};          // as written, relative to mesh.toml
  std::vector<NodeName> on{};  // sorted; every node where `on = "all"`
  Env env{};
  bool each = false;
  std::shared_ptr<const ModuleFile> file{};  // shared with modules of the same path
  Place place{};                             // of [modules.NAME]
  Place on_place{};                          // of its `on`
};

/// A whole mesh. Lists are sorted by name.
struct Mesh {
  std::string name{};
  BusSettings bus{};
  EventsSettings events{};
  Delivery delivery{};
  RegistrySettings registry{};
  std::map<std::string, Upstream> upstreams{};
  std::vector<Node> nodes{};
  std::vector<Seat> seats{};
  std::vector<Module> modules{};
  Place place{};

  /// The seat, module or node of that name, or nullptr.
  [[nodiscard]] const Seat* seat(std::string_view name) const;
  [[nodiscard]] const Module* module(std::string_view name) const;
  /// The bus as the node dials it: its own address, where it has one, or `BusSettings::urls`.
  [[nodiscard]] std::vector<std::string> bus_urls(const Node& node) const;
  [[nodiscard]] const Node* node(std::string_view name) const;
};

}  // namespace mesh::model
