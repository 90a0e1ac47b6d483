#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "model/cross_check.h"
#include "model/hints.h"

namespace mesh::model {

namespace {

bool emits(const std::vector<Located<EventName>>& emitted, const std::string& event) {
  return std::ranges::any_of(emitted,
                             [&](const auto& other) { return other.value.text() == event; });
}

void check_module_event(const Crossing& crossing, const EventRef& event, const Place& place) {
  const auto* module = crossing.module(event.owner);
  if (module == nullptr) {
    const bool seat = crossing.mesh.seat(event.owner) != nullptr;
    crossing.report.error(
        place, "unknown-module", fmt::format("no module \"{}\" is declared", event.owner),
        seat
            ? fmt::format("\"{0}\" is a seat, whose event is \"{0}:{1}\"", event.owner, event.event)
            : module_hint(crossing, event.owner));
    return;
  }
  if (!crossing.broken.contains(module->file.get()) && !emits(module->file->emits, event.event)) {
    crossing.report.error(
        place, "event-not-emitted",
        fmt::format("nobody emits \"{}\": module \"{}\" does not declare it", event.text(),
                    event.owner),
        event_hint(crossing, module->file->emits, event.owner + ".", event.event));
  }
}

void check_seat_event(const Crossing& crossing, const EventRef& event, const Place& place) {
  const auto* seat = crossing.mesh.seat(event.owner);
  if (seat == nullptr) {
    const bool module = crossing.module(event.owner) != nullptr;
    crossing.report.error(place, "unknown-seat",
                          fmt::format("no seat \"{}\" is declared", event.owner),
                          module ? fmt::format("\"{0}\" is a module, whose event is \"{0}.{1}\"",
                                               event.owner, event.event)
                                 : seat_hint(crossing, event.owner));
    return;
  }
  if (!emits(seat->emits, event.event)) {
    crossing.report.error(place, "event-not-emitted",
                          fmt::format("nobody emits \"{}\": seat \"{}\" does not declare it",
                                      event.text(), event.owner),
                          event_hint(crossing, seat->emits, event.owner + ":", event.event));
    return;
  }
  const auto use = crossing.seats.find(event.owner);
  if (crossing.broken.empty() && (use == crossing.seats.end() || !use->second.held)) {
    crossing.report.error(
        place, "event-not-emitted",
        fmt::format("nobody emits \"{}\": no module holds the seat", event.text()),
        fmt::format("add holds = [\"{}\"] to the module that does its work", event.owner));
  }
}

void check_event(const Crossing& crossing, const EventRef& event, const Place& place) {
  if (event.source == EventRef::Source::Seat) {
    check_seat_event(crossing, event, place);
  } else {
    check_module_event(crossing, event, place);
  }
}

/// One consumer has one start, so of several the earliest holds for all.
void check_one_start(const Crossing& crossing, const ModuleFile& file) {
  const auto same = [&](const Consume& other) {
    const auto& first = file.consumes.front().from;
    return other.from.kind == first.kind && other.from.age == first.age;
  };
  const auto other = std::ranges::find_if_not(file.consumes, same);
  if (other != file.consumes.end()) {
    crossing.report.warning(other->place, "mixed-from",
                            "events of one module start together: the earliest from holds for all",
                            "give each the same from");
  }
}

void check_work(const Crossing& crossing, const Seat& seat, const VerbName& verb,
                const Located<EventRef>& event, std::map<EventRef, std::string>& taken) {
  const bool own =
      event.value.source == EventRef::Source::Seat && event.value.owner == seat.name.text();
  if (own) {
    crossing.report.error(
        event.place, "seat-feeds-itself",
        fmt::format("seat \"{}\" would take its own event \"{}\" as work, for ever",
                    seat.name.text(), event.value.event));
    return;
  }
  check_event(crossing, event.value, event.place);
  const auto [first, fresh] = taken.emplace(event.value, verb.text());
  if (!fresh && first->second != verb.text()) {
    crossing.report.error(event.place, "listed-twice",
                          fmt::format("\"{}\" is already work for the verb \"{}\"",
                                      event.value.text(), first->second),
                          "one event becomes one piece of work");
  }
}

}  // namespace

void check_from(const Crossing& crossing, const Seat& seat) {
  std::map<EventRef, std::string> taken;
  for (const auto& [verb, events] : seat.from) {
    for (const auto& event : events) {
      check_work(crossing, seat, verb, event, taken);
    }
  }
}

void check_subjects(const Crossing& crossing, const ModuleFile& file) {
  for (const auto& [event, subject] : file.subjects) {
    if (!crossing.broken.contains(&file) && !emits(file.emits, event.text())) {
      crossing.report.error(
          subject.place, "event-not-emitted",
          fmt::format("subjects names \"{}\", which the module does not emit", event.text()),
          event_hint(crossing, file.emits, "", event.text()));
    }
  }
}

void check_consumes(const Crossing& crossing, const ModuleFile& file) {
  for (const auto& consume : file.consumes) {
    check_event(crossing, consume.event, consume.place);
  }
  if (!file.consumes.empty()) {
    check_one_start(crossing, file);
  }
}

}  // namespace mesh::model
