#pragma once

#include <string_view>
#include <unordered_map>
#include <unordered_set>

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
  std::unordered_map<std::string_view, SeatUse> seats;  // by name, also those not declared
};

/// Checks all that no file can tell alone.
void cross_check(const Mesh& mesh, const Broken& broken, Report& report);

// Its parts.
void check_events(const Crossing& crossing);   // what is consumed, and what seats take as work
void check_seats(const Crossing& crossing);    // holds, uses, seats that nobody needs
void check_calls(const Crossing& crossing);    // tools that are called
void check_placing(const Crossing& crossing);  // nodes and ports
void check_disk(const Crossing& crossing);     // what EVENTS may come to hold

}  // namespace mesh::model
