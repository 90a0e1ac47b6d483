#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "model/declarations.h"
#include "model/report.h"

namespace mesh::model {

/// Module files that could not be read whole: what they do not say is not held against others.
using Broken = std::unordered_set<const ModuleFile*>;

struct SeatUse {
  bool held = false;
  bool used = false;
};

/// What the checks across files share. Every module has its file.
struct Crossing {
  const Mesh& mesh;
  const Broken& broken;
  Report& report;
  std::unordered_map<std::string_view, const Module*> modules;  // by name
  std::unordered_map<std::string_view, SeatUse> seats;          // by name, also those not declared

  /// The module of that name, or nullptr.
  [[nodiscard]] const Module* module(std::string_view name) const;
};

/// Checks all that no file can tell alone.
void cross_check(const Mesh& mesh, const Broken& broken, Report& report);

// Its parts. What a module says is checked in one go: ten thousand modules are not in the
// processor's cache for a second one.
void check_consumes(const Crossing& crossing, const ModuleFile& file);
void check_subjects(const Crossing& crossing, const ModuleFile& file);
void check_seats_of(const Crossing& crossing, const ModuleFile& file);
void check_seat(const Crossing& crossing, const Seat& seat);
void check_from(const Crossing& crossing, const Seat& seat);
/// Seats whose events become each other's work.
void check_circles(const Crossing& crossing);

/// Two fixed ports on one node, or one that mesh itself listens on.
class Placing {
 public:
  explicit Placing(const Crossing& crossing) : crossing_(crossing) {}
  void check(const Module& module);

 private:
  /// A fixed port that a component takes on its node.
  struct Taken {
    const Port* port;
    const Module* module;
    const Component* component;
  };
  /// The ports of one node, by number; few share one, so each list is short.
  using NodePorts = std::unordered_map<int, std::vector<Taken>>;

  void check_mesh_ports(const Port& port, const Module& module, const Component& component);
  void take(const std::string& node, NodePorts& ports, const Taken& taken);

  const Crossing& crossing_;
  std::unordered_map<std::string_view, NodePorts> nodes_;
};

}  // namespace mesh::model
