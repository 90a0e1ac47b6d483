#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

/// What a machine is told to run: the declaration of one node, as the controller writes it and the
/// host reads it.
namespace mesh::declaration {

using Milliseconds = std::chrono::milliseconds;

/// A name for a value of the declaration's sealed part, or, once that was opened, the value itself.
struct Sealed {
  std::string name;
  friend bool operator==(const Sealed&, const Sealed&) = default;
};

/// The value of a variable: text that stands in the declaration, or the name of a sealed one.
struct Value {
  std::string text;
  std::optional<Sealed> sealed;
  friend bool operator==(const Value&, const Value&) = default;
};

struct Port {
  std::string address;
  int host = 0;  // 0: a free one
  int container = 0;
  bool udp = false;
  friend bool operator==(const Port&, const Port&) = default;
};

struct Volume {
  std::string source;  // a name, or an absolute path of the machine
  std::string target;
  bool read_only = false;
  friend bool operator==(const Volume&, const Volume&) = default;

  [[nodiscard]] bool is_path() const { return source.starts_with('/'); }
};

struct Health {
  enum class Kind { Http, Tcp, Command };
  Kind kind = Kind::Tcp;
  std::string path;                  // Http
  std::vector<std::string> command;  // Command: argv
  int port = 0;
  Milliseconds interval{10'000};
  Milliseconds timeout{2'000};
  int retries = 3;
  Milliseconds start{30'000};
  friend bool operator==(const Health&, const Health&) = default;
};

enum class Restart { Always, OnFailure, Never };

/// One program of a module: a container of `image`, or the command `run` on the machine itself.
struct Component {
  std::string name;
  std::string image;             // `HOST[:PORT]/REPOSITORY@DIGEST`; empty for a command
  std::vector<std::string> run;  // empty for an image
  std::vector<std::string> command;
  std::vector<std::string> entrypoint;
  std::optional<std::string> user;
  std::map<std::string, Value> env;
  std::map<std::string, Sealed> secrets;     // file below MESH_SECRETS -> value
  std::map<std::string, std::string> files;  // path in the container -> bytes
  std::vector<Port> ports;
  std::vector<Volume> volumes;
  std::vector<std::string> devices;
  std::string network = "bridge";  // `host`, `none`
  std::vector<std::string> capabilities;
  bool read_only = false;
  std::vector<std::string> tmpfs;
  std::optional<std::int64_t> memory;  // bytes
  std::optional<double> cpus;
  std::optional<int> pids;
  bool init = true;
  Milliseconds grace{10'000};
  std::int64_t log_size = 10 << 20;  // bytes
  Restart restart = Restart::Always;
  std::vector<std::string> after;
  std::optional<Health> health;
  friend bool operator==(const Component&, const Component&) = default;

  /// Two of it cannot run at once: a fixed port of the machine, or a volume.
  [[nodiscard]] bool excludes_itself() const;
};

/// As it stands in a declaration.
[[nodiscard]] nlohmann::json to_json(const Component& component);
/// Errors: Corrupt, naming the key.
[[nodiscard]] Result<Component> component_from_json(const nlohmann::json& object);

[[nodiscard]] const char* restart_name(Restart restart);

}  // namespace mesh::declaration
