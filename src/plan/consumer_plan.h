#pragma once

#include <vector>

#include "plan/stream_plan.h"

namespace mesh::plan {

/// The consumers' part of `bus_plan`, behind its streams' part.
struct ConsumerPlan {
  std::vector<Change> raise;
  std::vector<Change> remove;
};

[[nodiscard]] ConsumerPlan consumer_plan(const broker::Wanted& wanted, const Observed& observed,
                                         const StreamPlan& streams, const Hints& hints);

/// The filters that a wanted consumer has and the observed one has not.
[[nodiscard]] std::vector<std::string> added_filters(const broker::WantedConsumer& wanted,
                                                     const ObservedConsumer& before);

}  // namespace mesh::plan
