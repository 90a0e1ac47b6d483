#include "converge/units.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/digest.h"

namespace mesh::converge {

namespace {

/// One module: what it should be, and the units of it that are there.
class ModuleSteps {
 public:
  ModuleSteps(std::string module, const Target& target, const Observed& observed)
      : module_(std::move(module)), observed_(observed) {
    for (const auto& unit : observed.units) {
      if (unit.name.module == module_) {
        units_.push_back(&unit);
      }
    }
    declared_ = find(target.modules);
    const auto former = target.former.find(module_);
    const auto rejected = target.rejected.find(module_);
    former_ = former == target.former.end() ? nullptr : &former->second;
    rejected_ = declared_ != nullptr && former_ != nullptr && rejected != target.rejected.end() &&
                rejected->second == declared_->generation();
    wanted_ = rejected_ ? former_ : declared_;
  }

  std::vector<Step> run() {
    if (wanted_ == nullptr) {
      take_away("its module is not declared here any more");
      return std::move(out_);
    }
    if (!rejected_ && pulls(*declared_)) {
      // Until all of it is on the machine, what ran before goes on as if nothing were declared.
      wanted_ = former_ != nullptr ? former_ : declared_;
    }
    if (rejects()) {
      return std::move(out_);
    }
    if (wanted_ != declared_ ? pulls(*wanted_) : !out_.empty() || waits_for_images_) {
      starts();
      return std::move(out_);
    }
    creates();
    if (stops_before_starts()) {
      return std::move(out_);
    }
    restarts();
    starts();
    if (all_good() && !touches_units()) {
      accept();
      take_away(wanted_ == declared_ ? "what replaces it runs" : "the former one runs");
    }
    return std::move(out_);
  }

  [[nodiscard]] bool is_converged() const {
    if (wanted_ != declared_) {
      return false;
    }
    return declared_ == nullptr ? units_.empty()
                                : all_good() && std::ranges::all_of(units_, [&](const auto* unit) {
                                    return is_wanted(*unit);
                                  });
  }

 private:
  [[nodiscard]] const WantedModule* find(const std::vector<WantedModule>& modules) const {
    const auto found = std::ranges::find(modules, module_, &WantedModule::name);
    return found == modules.end() ? nullptr : &*found;
  }

  [[nodiscard]] const Unit* unit_of(const WantedComponent& component) const {
    const auto found = std::ranges::find_if(units_, [&](const auto* unit) {
      return unit->name.component == component.name &&
             unit->name.generation == component.generation;
    });
    return found == units_.end() ? nullptr : *found;
  }

  [[nodiscard]] bool is_wanted(const Unit& unit) const {
    return std::ranges::any_of(wanted_->components, [&](const auto& component) {
      return component.name == unit.name.component && component.generation == unit.name.generation;
    });
  }

  [[nodiscard]] bool is_good(const WantedComponent& component) const {
    const auto* unit = unit_of(component);
    return unit != nullptr && unit->standing == Standing::Good;
  }

  [[nodiscard]] bool all_good() const {
    return std::ranges::all_of(wanted_->components,
                               [&](const auto& component) { return is_good(component); });
  }

  void add(Action action, const UnitName& unit, std::string because) {
    out_.push_back({action, unit, {}, module_, {}, std::move(because)});
  }

  /// Everything is on the machine before anything is touched. True where something is not.
  bool pulls(const WantedModule& wanted) {
    std::set<std::string> images;
    bool missing = false;
    for (const auto& component : wanted.components) {
      const bool there = component.image.empty() || observed_.images.contains(component.image) ||
                         unit_of(component) != nullptr;
      if (there) {
        continue;
      }
      missing = true;
      if (!observed_.unpullable.contains(component.image) &&
          images.insert(component.image).second) {
        out_.push_back({Action::Pull,
                        {},
                        component.image,
                        module_,
                        {},
                        "component " + component.name + " needs it"});
      }
    }
    waits_for_images_ = missing;
    return missing;
  }

  /// A new state that does not come up makes room for the former, where there is one.
  bool rejects() {
    if (wanted_ != declared_ || former_ == nullptr) {
      return false;
    }
    for (const auto& component : wanted_->components) {
      const auto* unit = unit_of(component);
      if (unit != nullptr && unit->standing == Standing::Bad) {
        out_.push_back({Action::Reject,
                        unit->name,
                        {},
                        module_,
                        wanted_->generation(),
                        fmt::format("{}: {}", component.name, unit->because)});
        return true;
      }
    }
    return false;
  }

  void creates() {
    for (const auto& component : wanted_->components) {
      if (unit_of(component) == nullptr) {
        add(Action::Create, {module_, component.name, component.generation},
            wanted_ == declared_ ? "it is declared" : "the former one is put back");
      }
    }
  }

  /// A former unit that holds a port or a volume of a component that is not up yet stops first.
  bool stops_before_starts() {
    for (const auto& component : wanted_->components) {
      const auto* now = unit_of(component);
      const bool up = now != nullptr && now->state == UnitState::Running;
      if (!component.excludes_itself || up) {
        continue;
      }
      for (const auto* unit : units_) {
        if (unit->state == UnitState::Running && !is_wanted(*unit)) {
          add(Action::Stop, unit->name, "its port or volume is needed by what replaces it");
        }
      }
      break;
    }
    return std::ranges::any_of(out_, [](const auto& step) { return step.action == Action::Stop; });
  }

  void restarts() {
    for (const auto& component : wanted_->components) {
      const auto* unit = unit_of(component);
      if (unit != nullptr && unit->state == UnitState::Running && unit->unhealthy) {
        add(Action::Stop, unit->name, unit->because);
      }
    }
  }

  void starts() {
    for (const auto& component : wanted_->components) {
      const auto* unit = unit_of(component);
      const bool stands = unit != nullptr && unit->state != UnitState::Running &&
                          unit->standing != Standing::Good && unit->due;
      const bool ready = std::ranges::all_of(component.after, [&](const auto& name) {
        const auto other = std::ranges::find(wanted_->components, name, &WantedComponent::name);
        return other == wanted_->components.end() || is_good(*other);
      });
      // What was made in this very round is started in the next: by then it is known to be there.
      if (stands && ready) {
        add(Action::Start, unit->name,
            unit->state == UnitState::Created ? "it is declared" : "it ended");
      }
    }
  }

  [[nodiscard]] bool touches_units() const {
    return std::ranges::any_of(out_, [](const auto& step) { return step.action != Action::Pull; });
  }

  void accept() {
    const auto generation = wanted_->generation();
    const auto noted = observed_.accepted.find(module_);
    if (wanted_ == declared_ &&
        (noted == observed_.accepted.end() || noted->second != generation)) {
      out_.push_back({Action::Accept, {}, {}, module_, generation, "all of it is up"});
    }
  }

  /// What is not wanted goes: stopped where it runs, and removed.
  void take_away(const char* because) {
    for (const auto* unit : units_) {
      if (wanted_ != nullptr && is_wanted(*unit)) {
        continue;
      }
      if (unit->state == UnitState::Running) {
        add(Action::Stop, unit->name, because);
      }
      add(Action::Remove, unit->name, because);
    }
  }

  std::string module_;
  const Observed& observed_;
  const WantedModule* declared_ = nullptr;
  const WantedModule* former_ = nullptr;
  const WantedModule* wanted_ = nullptr;
  bool rejected_ = false;
  bool waits_for_images_ = false;
  std::vector<const Unit*> units_;
  std::vector<Step> out_;
};

std::set<std::string> modules_of(const Target& target, const Observed& observed) {
  std::set<std::string> out;
  for (const auto& module : target.modules) {
    out.insert(module.name);
  }
  for (const auto& unit : observed.units) {
    out.insert(unit.name.module);
  }
  return out;
}

}  // namespace

std::string WantedModule::generation() const {
  std::string text;
  for (const auto& component : components) {
    text += component.name + ' ' + component.generation + '\n';
  }
  return sha256_hex(text).substr(0, 16);
}

const char* action_name(Action action) {
  switch (action) {
    case Action::Pull:
      return "pull";
    case Action::Create:
      return "create";
    case Action::Start:
      return "start";
    case Action::Stop:
      return "stop";
    case Action::Remove:
      return "remove";
    case Action::Accept:
      return "accept";
    case Action::Reject:
      return "reject";
  }
  return "";
}

std::string Step::text() const {
  const auto what = action == Action::Pull ? image
                    : unit.component.empty()
                        ? module
                        : fmt::format("{}.{} ({})", unit.module, unit.component, unit.generation);
  return fmt::format("{} {}: {}", action_name(action), what, because);
}

std::vector<Step> steps(const Target& target, const Observed& observed) {
  std::vector<Step> out;
  for (const auto& module : modules_of(target, observed)) {
    auto more = ModuleSteps(module, target, observed).run();
    std::ranges::move(more, std::back_inserter(out));
  }
  return out;
}

bool converged(const Target& target, const Observed& observed, const std::string& module) {
  return ModuleSteps(module, target, observed).is_converged();
}

bool converged(const Target& target, const Observed& observed) {
  return std::ranges::all_of(modules_of(target, observed), [&](const auto& module) {
    return converged(target, observed, module);
  });
}

}  // namespace mesh::converge
