#include "model/cross_check.h"

#include <algorithm>

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
  const auto* module = crossing.module(module_name.text());
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
                          tool_hint(crossing, *module, tool.text()));
  }
}

/// What EVENTS may come to hold, against what it may take.
void check_disk(const Crossing& crossing, std::size_t subjects) {
  static constexpr double kGiB = 1 << 30;
  const auto& events = crossing.mesh.events;
  const double worst = static_cast<double>(subjects) * static_cast<double>(events.per_event) *
                       static_cast<double>(events.largest);
  if (worst <= static_cast<double>(events.disk)) {
    return;
  }
  crossing.report.warning(
      events.place, "disk-too-small",
      fmt::format("{} {}, {} messages of each kept, each at most {}, may come to {:.1f}GiB; disk "
                  "is {}",
                  subjects, subjects == 1 ? "event" : "events", events.per_event,
                  size_text(events.largest), worst / kGiB, size_text(events.disk)),
      "when disk is full new events are refused; raise disk, or lower per-event or largest");
}

/// Notes what the module is to others; the number of events that it emits.
std::size_t note(Crossing& crossing, const Module& module) {
  crossing.modules.emplace(module.name.text(), &module);
  for (const auto& seat : module.file->holds) {
    crossing.seats[seat.value.text()].held = true;
  }
  for (const auto& use : module.file->uses) {
    crossing.seats[use.value.seat.text()].used = true;
  }
  return module.file->emits.size();
}

using CheckedFiles = std::unordered_set<const ModuleFile*>;

void check_module(const Crossing& crossing, Placing& placing, CheckedFiles& files,
                  const Module& module) {
  // What a file says of others is the same for all modules that share it.
  if (files.insert(module.file.get()).second) {
    check_consumes(crossing, *module.file);
    check_subjects(crossing, *module.file);
    check_seats_of(crossing, *module.file);
  }
  for (const auto& call : module.file->calls) {
    check_call(crossing, module, call);
  }
  placing.check(module);
}

}  // namespace

const Module* Crossing::module(std::string_view name) const {
  const auto found = modules.find(name);
  return found == modules.end() ? nullptr : found->second;
}

void cross_check(const Mesh& mesh, const Broken& broken, Report& report) {
  Crossing crossing{mesh, broken, report, {}, {}};
  crossing.modules.reserve(mesh.modules.size());
  std::size_t subjects = 0;
  for (const auto& module : mesh.modules) {
    subjects += note(crossing, module);
  }
  Placing placing(crossing);
  CheckedFiles files;
  files.reserve(mesh.modules.size());
  for (const auto& module : mesh.modules) {
    check_module(crossing, placing, files, module);
  }
  for (const auto& seat : mesh.seats) {
    check_seat(crossing, seat);
    check_from(crossing, seat);
    subjects += seat.emits.size();
  }
  check_circles(crossing);
  check_disk(crossing, subjects);
}

}  // namespace mesh::model
