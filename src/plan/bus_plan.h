#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "broker/objects.h"
#include "plan/change.h"
#include "plan/observed.h"

namespace mesh::plan {

/// A question: how many messages does `stream` hold on subjects that match `filter`, up to the
/// sequence `up_to`?
struct Matching {
  std::string stream;
  std::string filter;
  std::uint64_t up_to = 0;
  friend auto operator<=>(const Matching&, const Matching&) = default;
};

/// What the plan needs beside the two sides.
struct Hints {
  std::string mesh_id;
  bool adopt = false;  // take over objects with our names that carry no mesh's id
  std::chrono::sys_time<std::chrono::seconds> now;  // for `from = "1h"`
  /// The server cannot change `max_consumers` of a stream (2.10 cannot, 2.15 can).
  bool max_consumers_fixed = true;
  std::map<Matching, std::uint64_t> matching;  // answers to `questions`
  /// Where consumers stood (`STREAM.name` -> acknowledged floor) when a push that was cut off began
  /// to replace them.
  std::map<std::string, std::uint64_t> floors;
};

/// What has to be asked of the bus before `bus_plan`, so that it can say how many messages a
/// widened consumer skips. Empty where nothing widens.
[[nodiscard]] std::vector<Matching> questions(const broker::Wanted& wanted,
                                              const Observed& observed);

/// The changes that make the bus hold what is wanted, in the order in which they are made: streams,
/// consumers, then what goes away. `observed` is sorted (Observed::sort). What Mesh did not make is
/// left alone. Errors: Conflict where an object carries another mesh's id, or has a name of ours
/// and no id (`adopt` takes it over), or a foreign stream stores subjects of ours.
[[nodiscard]] Result<std::vector<Change>> bus_plan(const broker::Wanted& wanted,
                                                   const Observed& observed, const Hints& hints);

/// The floors that are lost when these changes are cut off in the middle, for the records: `floors`
/// of a later run.
[[nodiscard]] std::map<std::string, std::uint64_t> floors_at_risk(
    const std::vector<Change>& changes, const Observed& observed);

}  // namespace mesh::plan
