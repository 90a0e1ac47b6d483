#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "model/cross_check.h"
#include "model/hints.h"

namespace mesh::model {

namespace {

bool accepts(const Seat& seat, const VerbName& verb) {
  return std::ranges::any_of(seat.accepts, [&](const auto& other) { return other.value == verb; });
}

void check_hold(const Crossing& crossing, const Located<SeatName>& hold) {
  const auto& name = hold.value.text();
  if (crossing.mesh.seat(name) == nullptr) {
    crossing.report.error(hold.place, "unknown-seat",
                          fmt::format("seat \"{}\" is held and not declared", name),
                          seat_hint(crossing, name));
  }
}

void check_use(const Crossing& crossing, const Located<VerbRef>& use) {
  const auto& name = use.value.seat.text();
  const auto* seat = crossing.mesh.seat(name);
  if (seat == nullptr) {
    crossing.report.error(use.place, "unknown-seat",
                          fmt::format("seat \"{}\" is used and not declared", name),
                          seat_hint(crossing, name));
    return;
  }
  if (!accepts(*seat, use.value.verb)) {
    crossing.report.error(
        use.place, "verb-not-accepted",
        fmt::format("seat \"{}\" does not accept \"{}\"", name, use.value.verb.text()),
        verb_hint(crossing, *seat, use.value.verb.text()));
  }
  if (crossing.broken.empty() && !crossing.seats.at(name).held) {
    crossing.report.error(
        use.place, "seat-not-held",
        fmt::format("seat \"{}\" is used, and no module holds it", name),
        fmt::format("add holds = [\"{}\"] to the module that does its work", name));
  }
}

}  // namespace

void check_seats_of(const Crossing& crossing, const ModuleFile& file) {
  for (const auto& hold : file.holds) {
    check_hold(crossing, hold);
  }
  for (const auto& use : file.uses) {
    check_use(crossing, use);
  }
}

void check_seat(const Crossing& crossing, const Seat& seat) {
  const auto use = crossing.seats.find(seat.name.text());
  const bool held = use != crossing.seats.end() && use->second.held;
  const bool used = use != crossing.seats.end() && use->second.used;
  if (!held && !used && crossing.broken.empty()) {
    crossing.report.warning(
        seat.place, "seat-unused",
        fmt::format("nobody holds and nobody uses seat \"{}\"", seat.name.text()),
        seat.from.empty() ? "" : "its work waits until somebody holds it");
  }
  for (const auto& [verb, events] : seat.from) {
    if (!accepts(seat, verb)) {
      crossing.report.error(
          events.empty() ? seat.place : events.front().place, "verb-not-accepted",
          fmt::format("seat \"{}\" does not accept \"{}\"", seat.name.text(), verb.text()),
          verb_hint(crossing, seat, verb.text()));
    }
  }
}

}  // namespace mesh::model
