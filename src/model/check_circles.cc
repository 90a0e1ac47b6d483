#include <algorithm>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "model/cross_check.h"

namespace mesh::model {

namespace {

/// The seats that a seat takes its work from, with the first event of each.
using Feeders = std::unordered_map<std::string_view, std::vector<const Located<EventRef>*>>;

Feeders feeders_of(const Mesh& mesh) {
  Feeders feeders;
  for (const auto& seat : mesh.seats) {
    for (const auto& [verb, events] : seat.from) {
      for (const auto& event : events) {
        // What feeds itself is an error of its own.
        if (event.value.source == EventRef::Source::Seat && event.value.owner != seat.name.text()) {
          feeders[seat.name.text()].push_back(&event);
        }
      }
    }
  }
  return feeders;
}

/// Whether what `seat` emits comes, over other seats, to be work of `wanted`.
bool leads_to(const Feeders& feeders, std::string_view wanted, std::string_view seat,
              std::vector<std::string_view>& seen) {
  if (seat == wanted) {
    return true;
  }
  const auto found = feeders.find(seat);
  if (found == feeders.end() || std::ranges::find(seen, seat) != seen.end()) {
    return false;
  }
  seen.push_back(seat);
  return std::ranges::any_of(found->second, [&](const auto* event) {
    return leads_to(feeders, wanted, event->value.owner, seen);
  });
}

}  // namespace

void check_circles(const Crossing& crossing) {
  const auto feeders = feeders_of(crossing.mesh);
  for (const auto& seat : crossing.mesh.seats) {
    const auto found = feeders.find(seat.name.text());
    for (const auto* event :
         found == feeders.end() ? std::vector<const Located<EventRef>*>() : found->second) {
      std::vector<std::string_view> seen;
      if (leads_to(feeders, seat.name.text(), event->value.owner, seen)) {
        crossing.report.warning(
            event->place, "seats-in-a-circle",
            fmt::format("seat \"{}\" takes \"{}\" as work, and what it emits becomes work of seat "
                        "\"{}\" in turn",
                        seat.name.text(), event->value.text(), event->value.owner),
            "work may go round for ever; take it from an event outside the circle");
      }
    }
  }
}

}  // namespace mesh::model
