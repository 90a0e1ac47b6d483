#include "controller/supervisor.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "controller/run_state.h"
#include "os/files.h"
#include "os/process_mark.h"

namespace mesh::controller {

namespace {

constexpr int kStopTick = 20;  // milliseconds between two looks at what is ending

bool same(const ComponentState& a, const ComponentState& b) {
  const auto fields = [](const ComponentState& one) {
    return std::tie(one.node, one.module, one.component, one.state, one.restarts, one.because,
                    one.process);
  };
  return fields(a) == fields(b);
}

}  // namespace

Supervisor::Supervisor(inventory::State& state, Homes homes, Edges edges, OnUnitLine on_line,
                       Say say, std::unique_ptr<os::LinePump> pump)
    : state_(state),
      homes_(std::move(homes)),
      edges_(edges),
      on_line_(std::move(on_line)),
      say_(std::move(say)),
      pump_(std::move(pump)),
      since_(os::rfc3339(edges.clock.now())) {}

Result<std::unique_ptr<Supervisor>> Supervisor::start(inventory::State& state,
                                                      const Location& location, Edges edges,
                                                      OnUnitLine on_line, Say say) {
  MESH_TRY(const int left, kill_leftovers(state.paths));
  if (left > 0) {
    say(fmt::format("ended what an earlier `mesh up` left running (processes: {})", left));
  }
  MESH_TRY(auto homes, Homes::open(state, location.root, edges));
  MESH_TRY(auto pump, os::LinePump::start());
  if (!homes.separate()) {
    say("not root: all modules run as this user; isolation on this machine ends at the bus");
  }
  return std::unique_ptr<Supervisor>(new Supervisor(
      state, std::move(homes), edges, std::move(on_line), std::move(say), std::move(pump)));
}

/// Collects how every component runs; those that cannot be prepared go to `broken_`.
Status Supervisor::take(const model::Mesh& mesh, std::map<std::string, UnitSpec>& wanted) {
  Status first;
  broken_.clear();
  for (const auto& module : mesh.modules) {
    for (const auto& node : module.on) {
      for (const auto& component : module.file->components) {
        if (component.run.empty()) {
          continue;
        }
        const Part part{mesh.node(node.text()), &module, &component};
        auto spec = homes_.prepare(mesh, part);
        if (spec) {
          wanted.emplace(spec->name(), std::move(*spec));
          continue;
        }
        broken_.push_back({node.text(), module.name.text(), component.name.text(), "failed", 0,
                           os::rfc3339(edges_.clock.now()), spec.error().message});
        if (first) {
          first = std::unexpected(spec.error());
        }
      }
    }
  }
  return first;
}

Status Supervisor::add(UnitSpec spec) {
  const auto name = spec.name();
  const auto log = fmt::format("{}/{}.log", state_.paths.log(), name);
  MESH_TRY(auto unit, Unit::make(std::move(spec), log, *pump_, edges_.clock, on_line_));
  units_.emplace(name, std::move(unit));
  return {};
}

/// What runs and is to run otherwise; `wanted` is without what stays as it is.
void Supervisor::say_restarts(const std::map<std::string, UnitSpec>& wanted) const {
  for (const auto& [name, spec] : wanted) {
    const auto unit = units_.find(name);
    if (unit == units_.end()) {
      continue;
    }
    const auto& now = unit->second->spec();
    const bool environment = now.environment != spec.environment || now.secrets != spec.secrets;
    say_(fmt::format("{}: restarting, since {} changed", name,
                     environment ? "its environment" : "how it runs"));
  }
}

Status Supervisor::apply(const model::Mesh& mesh, std::int64_t number) {
  std::map<std::string, UnitSpec> wanted;
  auto outcome = take(mesh, wanted);
  std::vector<std::string> ending;
  for (const auto& [name, unit] : units_) {
    const auto found = wanted.find(name);
    if (found == wanted.end() || found->second.digest() != unit->spec().digest()) {
      ending.push_back(name);
    } else {
      wanted.erase(found);
    }
  }
  say_restarts(wanted);
  stop_units(ending);
  for (auto& [name, spec] : wanted) {
    auto added = add(std::move(spec));
    if (!added && outcome) {
      outcome = std::move(added);
    }
  }
  number_ = number;
  tick();
  return outcome;
}

bool Supervisor::may_start(const Unit& unit) const {
  return std::ranges::all_of(unit.spec().after, [&](const std::string& component) {
    const auto first =
        units_.find(fmt::format("{}.{}.{}", unit.spec().node, unit.spec().module, component));
    return first == units_.end() || first->second->as_declared();
  });
}

void Supervisor::tick() {
  for (const auto& [name, unit] : units_) {
    unit->tick(may_start(*unit));
  }
  write_state();
}

void Supervisor::wait(int descriptor, os::Milliseconds timeout) const {
  std::vector<pollfd> all = {{descriptor, POLLIN, 0}};
  for (const auto& [name, unit] : units_) {
    if (unit->descriptor() >= 0) {
      all.push_back({unit->descriptor(), POLLIN, 0});
    }
  }
  (void)::poll(all.data(), all.size(), static_cast<int>(timeout.count()));
}

void Supervisor::stop_units(const std::vector<std::string>& names, const os::Interrupt* interrupt) {
  for (const auto& name : names) {
    units_.at(name)->ask_to_stop();
  }
  auto left = names;
  while (!left.empty()) {
    if (interrupt != nullptr && interrupt->insisted()) {
      std::ranges::for_each(left, [&](const std::string& name) { units_.at(name)->hurry(); });
    }
    std::erase_if(left, [&](const std::string& name) { return units_.at(name)->has_stopped(); });
    if (!left.empty()) {
      // A process that ended is seen at once; one that does not end is killed at its grace.
      pollfd first{units_.at(left.front())->descriptor(), POLLIN, 0};
      (void)::poll(&first, 1, kStopTick);
    }
  }
  for (const auto& name : names) {
    units_.erase(name);
  }
}

Status Supervisor::stop(const os::Interrupt& interrupt) {
  std::vector<std::string> all;
  all.reserve(units_.size());
  for (const auto& [name, unit] : units_) {
    all.push_back(name);
  }
  stop_units(all, &interrupt);
  broken_.clear();
  MESH_CHECK(os::remove_tree(run_state_file(state_.paths)));
  return homes_.remove();
}

std::vector<ComponentState> Supervisor::states() const {
  std::vector<ComponentState> out = broken_;
  out.reserve(broken_.size() + units_.size());
  for (const auto& [name, unit] : units_) {
    out.push_back(unit->state());
  }
  std::ranges::sort(out, {}, [](const ComponentState& one) {
    return std::tie(one.node, one.module, one.component);
  });
  return out;
}

bool Supervisor::as_declared() const {
  return broken_.empty() &&
         std::ranges::all_of(units_, [](const auto& one) { return one.second->as_declared(); });
}

void Supervisor::say_changes(const std::vector<ComponentState>& now) const {
  for (const auto& one : now) {
    const auto was = std::ranges::find_if(written_, [&](const ComponentState& other) {
      return other.node == one.node && other.module == one.module &&
             other.component == one.component;
    });
    if (was == written_.end() || was->state != one.state) {
      say_(fmt::format("{}.{}.{}: {}{}{}", one.node, one.module, one.component, one.state,
                       one.because.empty() ? "" : ": ", one.because));
    }
  }
}

void Supervisor::write_state() {
  const auto now = states();
  if (number_ == written_number_ && std::ranges::equal(now, written_, same)) {
    return;
  }
  say_changes(now);
  const auto mark = os::mark_of(::getpid());
  if (!mark) {
    say_(mark.error().message);
    return;
  }
  const auto written = write_run_state(state_.paths, {*mark, number_, since_, now});
  if (!written) {
    say_(written.error().message);
    return;
  }
  written_ = now;
  written_number_ = number_;
}

}  // namespace mesh::controller
