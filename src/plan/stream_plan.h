#pragma once

#include <set>
#include <string>
#include <vector>

#include "plan/bus_plan.h"

namespace mesh::plan {

/// The streams' part of `bus_plan`.
struct StreamPlan {
  std::vector<Change> raise;
  std::vector<Change> remove;
  std::set<std::string> fresh;  // streams that begin empty: absent before, or replaced
};

[[nodiscard]] StreamPlan stream_plan(const broker::Wanted& wanted, const Observed& observed,
                                     const Hints& hints);

/// `because` with the names of the fields that change.
[[nodiscard]] Because changes_fields(Because because, const std::vector<std::string>& fields);

/// `1 message`, `3 messages`.
[[nodiscard]] std::string messages_text(std::uint64_t count);

}  // namespace mesh::plan
