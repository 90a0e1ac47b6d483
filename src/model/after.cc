#include "model/after.h"

#include <map>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"

namespace mesh::model {

namespace {

/// Walks from component to component; a component that is met again while it is being walked closes
/// a circle.
class Walk {
 public:
  explicit Walk(const std::vector<Component>& components) {
    for (const auto& component : components) {
      by_name_.emplace(component.name.text(), &component);
    }
  }

  [[nodiscard]] bool knows(const std::string& name) const { return by_name_.contains(name); }

  /// The circle through `start`, as `a, b, a`; empty where there is none. Without recursion, since
  /// a file may hold a chain of a hundred thousand.
  [[nodiscard]] std::string circle(const std::string& start) {
    path_.assign(1, {start, 0});
    state_[start] = State::Open;
    while (!path_.empty()) {
      const auto found = step();
      if (!found.empty()) {
        return found;
      }
    }
    return {};
  }

  [[nodiscard]] bool seen(const std::string& name) const { return state_.contains(name); }

 private:
  enum class State { Open, Closed };
  struct Step {
    std::string_view name;
    std::size_t next;  // index of the `after` to follow
  };

  std::string step() {
    auto& [name, next] = path_.back();
    const auto component = by_name_.find(name);
    if (component == by_name_.end() || next == component->second->after.size()) {
      state_[name] = State::Closed;
      path_.pop_back();
      return {};
    }
    const std::string_view other = component->second->after[next++];
    const auto state = state_.find(other);
    if (state == state_.end()) {
      state_[other] = State::Open;
      path_.push_back({other, 0});
    } else if (state->second == State::Open) {
      return describe(other);
    }
    return {};
  }

  [[nodiscard]] std::string describe(std::string_view closing) const {
    std::string out;
    bool inside = false;
    for (const auto& step : path_) {
      inside = inside || step.name == closing;
      if (inside) {
        out += fmt::format("{}, ", step.name);
      }
    }
    return out + std::string(closing);
  }

  std::map<std::string_view, const Component*> by_name_;
  std::map<std::string_view, State> state_;
  std::vector<Step> path_;
};

std::vector<std::string> names_of(const std::vector<Component>& components) {
  std::vector<std::string> names;
  names.reserve(components.size());
  for (const auto& component : components) {
    names.push_back(component.name.text());
  }
  return names;
}

/// Where the component says that it comes after `other`.
Place place_of(const Table& top, const Component& component, const std::string& other) {
  const auto table = top.find("components")->find(component.name.text());
  const auto after = table->find("after");
  for (const auto& item : after->items().value_or(std::vector<Value>{})) {
    if (item.text() != nullptr && *item.text() == other) {
      return item.place();
    }
  }
  return after->place();
}

}  // namespace

void check_after(const Table& top, const std::vector<Component>& components) {
  Walk walk(components);
  for (const auto& component : components) {
    for (const auto& other : component.after) {
      if (!walk.knows(other)) {
        const auto near =
            top.report().wants_hints() ? nearest(other, names_of(components)) : std::string();
        top.report().error(place_of(top, component, other), "unknown-component",
                           fmt::format("no component \"{}\" in this module", printable(other)),
                           near.empty() ? "" : fmt::format("did you mean \"{}\"?", near));
      }
    }
  }
  for (const auto& component : components) {
    if (walk.seen(component.name.text())) {
      continue;
    }
    const auto circle = walk.circle(component.name.text());
    if (!circle.empty()) {
      top.report().error(place_of(top, component, component.after.front()), "circle",
                         fmt::format("components wait for each other in a circle: {}", circle));
      return;
    }
  }
}

}  // namespace mesh::model
