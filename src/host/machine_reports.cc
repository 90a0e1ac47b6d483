// What the machine says of itself, and what it is asked.

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "host/machine.h"

namespace mesh::host {

namespace {

constexpr std::size_t kReportedLines = 10;

bool is_bad(const std::string& state) {
  return state == "failed" || state == "backoff" || state == "unhealthy";
}

}  // namespace

declaration::ComponentReport Machine::report_of(const std::string& module,
                                                const converge::WantedComponent& one) const {
  declaration::ComponentReport out;
  out.name = one.name;
  out.digest = one.image.empty() ? "" : one.image.substr(one.image.find('@') + 1);
  converge::UnitName name{module, one.name, one.generation};
  auto found = found_.find(name);
  if (found == found_.end()) {
    // What runs in its place, if anything does.
    found = std::ranges::find_if(found_, [&](const auto& entry) {
      return entry.first.module == module && entry.first.component == one.name;
    });
    if (found == found_.end()) {
      out.state = "stopped";
      const auto pull = pulls_.find(one.image);
      out.because = pull == pulls_.end() ? "" : "its image cannot be pulled: " + pull->second.why;
      return out;
    }
    name = found->first;
    out.digest = found->second.first.image;
  }
  const auto standing = judge_.standing(name);
  out.state = standing.state.empty() ? "unknown" : standing.state;
  out.since = standing.since;
  out.because = standing.because;
  out.restarts = standing.restarts;
  out.ports = found->second.first.bindings;
  out.pid = found->second.first.pid;
  if (is_bad(out.state)) {
    if (const auto lines = found->second.second->logs(name, {}, kReportedLines)) {
      out.last_lines = lines->lines;
    }
  }
  return out;
}

bool Machine::has_failed(const std::string& name, const ReadyModule& module) const {
  const auto note = store_.notes().find(name);
  const bool rejected =
      note != store_.notes().end() && note->second.rejected == module.wanted.generation();
  return blocked_.contains(name) || rejected ||
         std::ranges::any_of(module.wanted.components, [&](const auto& one) {
           const auto bad = judge_.unit({name, one.name, one.generation}, clock_.monotonic());
           return pulls_.contains(one.image) || bad.standing == converge::Standing::Bad;
         });
}

std::vector<declaration::ModuleReport> Machine::modules() const {
  std::vector<declaration::ModuleReport> out;
  const auto wanted = target();
  const auto there = observed();
  for (const auto& [name, module] : declared_) {
    declaration::ModuleReport report;
    report.name = name;
    const auto blocked = blocked_.find(name);
    report.converged = blocked == blocked_.end() && unseen_.empty() && !workers_.busy(name) &&
                       converge::converged(wanted, there, name);
    for (const auto& component : module.wanted.components) {
      report.components.push_back(report_of(name, component));
    }
    const auto note = store_.notes().find(name);
    const auto failed = failed_step_.find(name);
    report.failed = !report.converged && has_failed(name, module);
    if (blocked != blocked_.end()) {
      report.because = blocked->second;
    } else if (!report.converged && note != store_.notes().end() &&
               note->second.rejected == module.wanted.generation()) {
      report.because = note->second.because + "; the former one was put back";
      for (auto& component : report.components) {
        for (const auto& [unit, lines] : last_lines_) {
          if (unit.module == name && unit.component == component.name) {
            component.last_lines = lines;
          }
        }
      }
    } else if (!report.converged && failed != failed_step_.end()) {
      report.because = failed->second;
    } else if (!report.converged && !trouble_.empty()) {
      report.because = trouble_;
    }
    for (const auto& component : report.components) {
      if (!report.converged && report.because.empty() && !component.because.empty()) {
        report.because = component.name + ": " + component.because;
      }
    }
    out.push_back(std::move(report));
  }
  for (const auto& [name, why] : blocked_) {
    if (!declared_.contains(name)) {
      out.push_back({name, false, true, why, {}});
    }
  }
  std::ranges::sort(out, {}, &declaration::ModuleReport::name);
  return out;
}

Result<LogPiece> Machine::logs(const std::string& module, const std::string& component,
                               const LogCursor& cursor, std::size_t most) {
  const std::pair<const converge::UnitName, std::pair<Found, Driver*>>* chosen = nullptr;
  for (const auto& entry : found_) {
    if (entry.first.module != module || entry.first.component != component) {
      continue;
    }
    const auto& best = entry.second.first;
    if (chosen == nullptr || best.started > chosen->second.first.started) {
      chosen = &entry;
    }
  }
  if (chosen == nullptr) {
    return fail(Code::NotFound, fmt::format("nothing of {}.{} is on this node", module, component));
  }
  return chosen->second.second->logs(chosen->first, cursor, most);
}

void Machine::stop_units(bool now) {
  std::vector<std::thread> threads;
  for (const auto& [name, entry] : found_) {
    const auto* unit = ready(name);
    auto grace = unit == nullptr ? os::Milliseconds{10'000} : unit->spec.component.grace;
    if (now) {
      grace = os::Milliseconds{0};
    }
    judge_.stopping(name);
    threads.emplace_back([unit_name = name, driver = entry.second, grace] {
      (void)driver->stop(unit_name, grace).has_value();
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
}

Status Machine::stop_all(StopAll how) {
  stopping_all_ = true;
  look();
  Status first;
  const auto keep = [&](Status done) {
    if (!done && first) {
      first = std::move(done);
    }
  };
  stop_units(how.now);
  for (const auto& [name, entry] : found_) {
    keep(entry.second->remove(name));
  }
  if (how.volumes && drivers_.containers) {
    if (const auto names = drivers_.containers->volumes()) {
      for (const auto& name : *names) {
        keep(drivers_.containers->remove_volume(name));
      }
    }
  }
  look();
  if (!unseen_.empty() && first) {
    return fail(Code::Unavailable, trouble_);
  }
  return first;
}

}  // namespace mesh::host
