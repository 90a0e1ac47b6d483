#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "declaration/token.h"

namespace mesh::declaration {

/// How one component stands on its machine. `state` is `running`, `starting`, `unhealthy`,
/// `backoff`, `failed`, `stopped` or `unknown`.
struct ComponentReport {
  std::string name;
  std::string state;
  std::string digest;  // of its image; empty for a command
  int restarts = 0;
  std::string since;                    // RFC 3339
  std::string because;                  // why; may be empty
  std::vector<std::string> last_lines;  // of its log, where it failed
  std::vector<std::string> ports;       // `8080/tcp -> 127.0.0.1:49153`, where the machine chose
  std::int64_t pid = 0;                 // of a command that runs; 0 otherwise
  friend bool operator==(const ComponentReport&, const ComponentReport&) = default;
};

struct ModuleReport {
  std::string name;
  bool converged = false;  // as declared; not where the former one was put back
  bool failed = false;     // it will not come by itself: put back, not allowed, not to be pulled
  std::string because;     // why not
  std::vector<ComponentReport> components;
  friend bool operator==(const ModuleReport&, const ModuleReport&) = default;
};

/// A declaration that the host did not take.
struct Refusal {
  std::string code;  // of Code
  std::string because;
  friend bool operator==(const Refusal&, const Refusal&) = default;
};

/// What a node says of itself on `mesh.node.<node>.report`: after each change, at most once a
/// second, and every 30 s.
struct Report {
  std::string mesh;
  std::string node;
  std::string incarnation;     // drawn at each start of the host
  std::uint64_t sequence = 0;  // within the incarnation, from 1
  std::string time;            // RFC 3339, by the node's own clock
  std::string key;             // the node's public key, base 64; empty before it has one
  std::int64_t number = 0;     // of the declaration that it runs; 0: none yet
  bool converged = false;
  std::string platform;  // `linux/amd64`
  std::string version;
  std::string engine;  // `podman 4.3.1`; empty: none
  std::vector<ModuleReport> modules;
  std::optional<Refusal> refused;
  std::optional<JoinRequest> join;
  friend bool operator==(const Report&, const Report&) = default;
};

[[nodiscard]] std::string write(const Report& report);
/// Errors: Corrupt.
[[nodiscard]] Result<Report> read_report(std::string_view bytes);

}  // namespace mesh::declaration
