#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "os/clock.h"

namespace mesh::engine {

using Labels = std::map<std::string, std::string>;

struct Mount {
  enum class Kind { Bind, Volume };
  Kind kind = Kind::Bind;
  std::string source;  // an absolute path that exists, or the name of a volume
  std::string target;
  bool read_only = false;
};

/// A port of the container at one of the machine.
struct Published {
  int container = 0;
  bool udp = false;
  std::string address;  // empty: every address
  int host = 0;         // 0: the engine takes a free one
};

/// What a container is made of. What is empty is left to the image.
struct ContainerSpec {
  std::string name;
  std::string image;  // a reference that the engine has
  Labels labels;
  std::map<std::string, std::string> environment;
  std::vector<std::string> entrypoint;
  std::vector<std::string> command;
  std::string user;
  std::vector<Mount> mounts;
  std::map<std::string, std::string> tmpfs;  // path -> options
  std::vector<Published> ports;
  std::vector<std::string> devices;  // `/dev/x`, `/dev/x:/dev/y`, `/dev/x:/dev/y:rwm`
  std::string network = "bridge";    // `host`, `none`
  std::vector<std::string> capabilities;
  bool read_only = false;
  std::optional<std::int64_t> memory;  // bytes
  std::optional<double> cpus;
  std::optional<int> pids;
  bool init = false;
  std::int64_t log_size = 0;       // bytes that are kept of its output; 0: the engine's own cap
  std::vector<std::string> check;  // what Engine::check runs in it, where the engine has that
  os::Milliseconds grace{10'000};  // for a stop that names none
};

/// As a list shows it.
struct Listed {
  std::string id;
  std::string name;
  std::string state;  // created, running, paused, restarting, removing, exited, dead, …
  Labels labels;
};

struct Inspected {
  std::string id;
  std::string name;
  std::string image;  // the reference that it was made of
  std::string state;
  Labels labels;
  int exit_code = 0;
  bool out_of_memory = false;
  std::string error;  // why it could not be started
  std::int64_t pid = 0;
  std::optional<os::WallTime> started;  // nothing where it never was
  std::optional<os::WallTime> ended;
  std::string network;  // `host`, `none`, or else
  std::string address;  // on the engine's network; may be empty
  std::vector<Published> ports;
  std::vector<Mount> mounts;
  std::vector<std::string> check;  // the command that Engine::check runs, if any
};

struct Volume {
  std::string name;
  Labels labels;
};

}  // namespace mesh::engine
