#include "model/cross_check.h"

#include <fmt/format.h>

#include "base/text.h"
#include "model/hints.h"
#include "model/units.h"

namespace mesh::model {

namespace {

void check_call(const Crossing& crossing, const Module& caller, const Located<ToolRef>& call) {
  const auto& [module_name, tool] = call.value;
  if (module_name == caller.name) {
    crossing.report.error(
        call.place, "calls-itself",
        fmt::format("module \"{}\" calls its own tool \"{}\"", caller.name.text(), tool.text()),
        "a module needs no bus to call itself");
    return;
  }
  const auto* module = crossing.mesh.module(module_name.text());
  if (module == nullptr) {
    crossing.report.error(call.place, "unknown-module",
                          fmt::format("no module \"{}\" is declared", module_name.text()),
                          module_hint(crossing, module_name.text()));
    return;
  }
  const auto same = [&](const Tool& other) { return other.name == tool; };
  if (!crossing.broken.contains(module->file.get()) &&
      std::ranges::none_of(module->file->tools, same)) {
    crossing.report.error(call.place, "tool-not-offered",
                          fmt::format("module \"{}\" does not offer the tool \"{}\"",
                                      module_name.text(), tool.text()),
                          tool_hint(*module, tool.text()));
  }
}

double worst_case(const Crossing& crossing, std::size_t& subjects) {
  subjects = 0;
  for (const auto& module : crossing.mesh.modules) {
    subjects += module.file->emits.size();
  }
  for (const auto& seat : crossing.mesh.seats) {
    subjects += seat.emits.size();
  }
  const auto& events = crossing.mesh.events;
  return static_cast<double>(subjects) * static_cast<double>(events.per_event) *
         static_cast<double>(events.largest);
}

}  // namespace

void check_calls(const Crossing& crossing) {
  for (const auto& module : crossing.mesh.modules) {
    for (const auto& call : module.file->calls) {
      check_call(crossing, module, call);
    }
  }
}

void check_disk(const Crossing& crossing) {
  const auto& events = crossing.mesh.events;
  std::size_t subjects = 0;
  const double worst = worst_case(crossing, subjects);
  if (worst <= static_cast<double>(events.disk)) {
    return;
  }
  static constexpr double kGiB = 1 << 30;
  crossing.report.warning(
      events.place, "disk-too-small",
      fmt::format("{} {}, {} messages of each kept, each at most {}, may come to {:.1f}GiB; disk "
                  "is {}",
                  subjects, subjects == 1 ? "event" : "events", events.per_event,
                  size_text(events.largest), worst / kGiB, size_text(events.disk)),
      "when disk is full new events are refused; raise disk, or lower per-event or largest");
}

void cross_check(const Mesh& mesh, const Broken& broken, Report& report) {
  Crossing crossing{mesh, broken, report, {}};
  for (const auto& module : mesh.modules) {
    for (const auto& seat : module.file->holds) {
      crossing.seats[seat.value.text()].held = true;
    }
    for (const auto& use : module.file->uses) {
      crossing.seats[use.value.seat.text()].used = true;
    }
  }
  check_events(crossing);
  check_seats(crossing);
  check_calls(crossing);
  check_placing(crossing);
  check_disk(crossing);
}

}  // namespace mesh::model
