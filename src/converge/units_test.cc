#include "converge/units.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace mesh::converge {
namespace {

WantedComponent component(std::string name, std::string generation, std::string image = "") {
  return {std::move(name), std::move(generation), std::move(image), {}, false};
}

Unit unit(std::string name, std::string generation, UnitState state = UnitState::Running,
          Standing standing = Standing::Good) {
  return {{"shop", std::move(name), std::move(generation)}, state, standing, true, false, ""};
}

Target shop(std::vector<WantedComponent> components) {
  return {{{"shop", std::move(components)}}, {}, {}};
}

std::vector<std::string> words(const std::vector<Step>& steps) {
  std::vector<std::string> out;
  for (const auto& step : steps) {
    const auto what = step.action == Action::Pull ? step.image
                      : step.unit.component.empty()
                          ? step.module
                          : step.unit.component + " " + step.unit.generation;
    out.push_back(std::string(action_name(step.action)) + " " + what);
  }
  return out;
}

using Words = std::vector<std::string>;

TEST(Converge, NothingIsToDoWhereAllIsAsDeclared) {
  const auto target = shop({component("web", "1")});
  Observed observed{{unit("web", "1")}, {}, {}, {{"shop", target.modules[0].generation()}}};
  EXPECT_EQ(words(steps(target, observed)), Words{});
  EXPECT_TRUE(converged(target, observed));
}

TEST(Converge, PullsEverythingBeforeItTouchesAnything) {
  const auto target = shop({component("web", "2", "r/web@2"), component("job", "2", "r/job@2")});
  const Observed observed{{unit("web", "1")}, {"r/web@2"}, {}, {}};
  EXPECT_EQ(words(steps(target, observed)), Words{"pull r/job@2"});
}

TEST(Converge, AnImageThatCannotBePulledLeavesWhatRuns) {
  auto target = shop({component("web", "2", "r/web@2")});
  target.former["shop"] = {"shop", {component("web", "1", "r/web@1")}};
  Observed observed{{unit("web", "1")}, {}, {{"r/web@2", "no such image"}}, {}};
  EXPECT_EQ(words(steps(target, observed)), Words{});
  EXPECT_FALSE(converged(target, observed));
  observed.units[0].state = UnitState::Exited;
  observed.units[0].standing = Standing::Pending;
  EXPECT_EQ(words(steps(target, observed)), Words{"start web 1"});
}

TEST(Converge, StartsTheNewBeforeItStopsTheOld) {
  const auto target = shop({component("web", "2")});
  Observed observed{{unit("web", "1")}, {}, {}, {}};
  EXPECT_EQ(words(steps(target, observed)), Words{"create web 2"});
  observed.units.push_back(unit("web", "2", UnitState::Created, Standing::Pending));
  EXPECT_EQ(words(steps(target, observed)), Words{"start web 2"});
  observed.units[1].state = UnitState::Running;
  EXPECT_EQ(words(steps(target, observed)), Words{});
  observed.units[1].standing = Standing::Good;
  EXPECT_EQ(words(steps(target, observed)), (Words{"accept shop", "stop web 1", "remove web 1"}));
}

TEST(Converge, StopsTheOldFirstWhereAPortOrAVolumeForcesIt) {
  auto target = shop({component("web", "2")});
  target.modules[0].components[0].excludes_itself = true;
  const Observed observed{
      {unit("web", "1"), unit("web", "2", UnitState::Created, Standing::Pending)}, {}, {}, {}};
  EXPECT_EQ(words(steps(target, observed)), Words{"stop web 1"});
}

TEST(Converge, PutsTheFormerBackWhereTheNewDoesNotComeUp) {
  auto target = shop({component("web", "2")});
  target.former["shop"] = {"shop", {component("web", "1")}};
  Observed observed{{unit("web", "1", UnitState::Exited, Standing::Pending),
                     unit("web", "2", UnitState::Running, Standing::Bad)},
                    {},
                    {},
                    {}};
  EXPECT_EQ(words(steps(target, observed)), Words{"reject web 2"});
  target.rejected["shop"] = target.modules[0].generation();
  EXPECT_EQ(words(steps(target, observed)), Words{"start web 1"});
  observed.units[0].state = UnitState::Running;
  observed.units[0].standing = Standing::Good;
  EXPECT_EQ(words(steps(target, observed)), (Words{"stop web 2", "remove web 2"}));
  observed.units.pop_back();
  EXPECT_EQ(words(steps(target, observed)), Words{});
  EXPECT_FALSE(converged(target, observed));
}

TEST(Converge, TriesOnWhereThereIsNoFormer) {
  const auto target = shop({component("web", "1")});
  Observed observed{{unit("web", "1", UnitState::Exited, Standing::Bad)}, {}, {}, {}};
  EXPECT_EQ(words(steps(target, observed)), Words{"start web 1"});
  observed.units[0].due = false;
  EXPECT_EQ(words(steps(target, observed)), Words{});
}

TEST(Converge, AComponentStartsAfterThoseThatItNames) {
  auto target = shop({component("db", "1"), component("web", "1")});
  target.modules[0].components[1].after = {"db"};
  Observed observed{{unit("db", "1", UnitState::Running, Standing::Pending),
                     unit("web", "1", UnitState::Created, Standing::Pending)},
                    {},
                    {},
                    {}};
  EXPECT_EQ(words(steps(target, observed)), Words{});
  observed.units[0].standing = Standing::Good;
  EXPECT_EQ(words(steps(target, observed)), Words{"start web 1"});
}

TEST(Converge, AComponentThatDidNotChangeIsNotTouched) {
  const auto target = shop({component("web", "2"), component("job", "1")});
  const Observed observed{{unit("web", "1"), unit("job", "1")}, {}, {}, {}};
  EXPECT_EQ(words(steps(target, observed)), Words{"create web 2"});
}

TEST(Converge, AnUnhealthyOneIsStartedAnew) {
  const auto target = shop({component("web", "1")});
  Observed observed{{unit("web", "1")}, {}, {}, {{"shop", target.modules[0].generation()}}};
  observed.units[0].unhealthy = true;
  observed.units[0].standing = Standing::Pending;
  EXPECT_EQ(words(steps(target, observed)), Words{"stop web 1"});
}

TEST(Converge, WhatIsNotDeclaredAnyMoreGoes) {
  const Observed observed{{unit("web", "1"), unit("job", "1", UnitState::Exited)}, {}, {}, {}};
  EXPECT_EQ(words(steps(Target{}, observed)),
            (Words{"stop web 1", "remove web 1", "remove job 1"}));
}

TEST(Converge, WhatHasDoneItsWorkIsNotStartedAgain) {
  const auto target = shop({component("job", "1")});
  const Observed observed{{unit("job", "1", UnitState::Exited, Standing::Good)},
                          {},
                          {},
                          {{"shop", target.modules[0].generation()}}};
  EXPECT_EQ(words(steps(target, observed)), Words{});
  EXPECT_TRUE(converged(target, observed));
}

/// A machine that does the steps: what is started becomes good, or, where its generation ends in
/// `x`, bad.
class World {
 public:
  World(Target target, Observed observed)
      : target_(std::move(target)), observed_(std::move(observed)) {}

  /// At most `most` of the steps that are due; how many there were.
  std::size_t turn(std::size_t most) {
    const auto due = steps(target_, observed_);
    std::size_t done = 0;
    for (const auto& step : due) {
      if (done++ == most) {
        break;
      }
      take(step);
    }
    return due.size();
  }

  /// Time passes: what runs is judged.
  bool judge() {
    bool changed = false;
    for (auto& one : observed_.units) {
      if (one.state == UnitState::Running && one.standing == Standing::Pending) {
        one.standing = one.name.generation.ends_with('x') ? Standing::Bad : Standing::Good;
        one.because = "it does not come up";
        changed = true;
      }
    }
    return changed;
  }

  [[nodiscard]] const Target& target() const { return target_; }
  [[nodiscard]] const Observed& observed() const { return observed_; }

 private:
  void take(const Step& step) {
    auto& units = observed_.units;
    const auto found = std::ranges::find(units, step.unit, &Unit::name);
    switch (step.action) {
      case Action::Pull:
        observed_.images.insert(step.image);
        break;
      case Action::Create:
        ASSERT_TRUE(found == units.end()) << step.text();
        units.push_back({step.unit, UnitState::Created, Standing::Pending, true, false, ""});
        break;
      case Action::Start:
        ASSERT_TRUE(found != units.end() && found->state != UnitState::Running) << step.text();
        found->state = UnitState::Running;
        found->standing = Standing::Pending;
        break;
      case Action::Stop:
        ASSERT_TRUE(found != units.end() && found->state == UnitState::Running) << step.text();
        found->state = UnitState::Exited;
        found->standing = Standing::Pending;
        found->unhealthy = false;
        break;
      case Action::Remove:
        ASSERT_TRUE(found != units.end() && found->state != UnitState::Running) << step.text();
        units.erase(found);
        break;
      case Action::Accept:
        observed_.accepted[step.module] = step.generation;
        target_.former.erase(step.module);
        break;
      case Action::Reject:
        target_.rejected[step.module] = step.generation;
        break;
    }
  }

  Target target_;
  Observed observed_;
};

class AnyState {
 public:
  explicit AnyState(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t n) { return random_() % n; }

  WantedModule module(const std::string& name, bool sound) {
    WantedModule out{name, {}};
    for (const char* part : {"a", "b", "c"}) {
      if (below(3) == 0) {
        continue;
      }
      auto generation = std::to_string(below(3)) + (sound || below(4) != 0 ? "" : "x");
      out.components.push_back(
          {part, generation, below(2) == 0 ? "" : "image" + generation, {}, below(2) == 0});
      if (out.components.size() > 1 && below(2) == 0) {
        out.components.back().after = {out.components.front().name};
      }
    }
    return out;
  }

  World world() {
    Target target;
    Observed observed;
    for (const char* name : {"shop", "mail"}) {
      if (below(5) != 0) {
        target.modules.push_back(module(name, false));
      }
      if (below(2) == 0) {
        target.former[name] = module(name, true);
      }
    }
    std::set<UnitName> names;
    for (std::size_t i = below(8); i > 0; --i) {
      names.insert({below(2) == 0 ? "shop" : "old",
                    std::string(1, static_cast<char>('a' + below(4))), std::to_string(below(3))});
    }
    for (const auto& name : names) {
      const auto state = static_cast<UnitState>(below(3));
      const auto standing = static_cast<Standing>(below(3));
      observed.units.push_back({name, state, standing, below(4) != 0, below(5) == 0, "seen so"});
      if (state != UnitState::Running) {
        observed.units.back().unhealthy = false;
      }
    }
    return {std::move(target), std::move(observed)};
  }

 private:
  std::mt19937 random_;
};

/// What it came to is as declared, or the former where the declared one does not come up and there
/// is a former.
void expect_done(const World& world, unsigned seed) {
  for (const auto& module : world.target().modules) {
    const bool rejected = world.target().rejected.contains(module.name) &&
                          world.target().former.contains(module.name);
    const auto& wanted = rejected ? world.target().former.at(module.name) : module;
    for (const auto& unit : world.observed().units) {
      if (unit.name.module == module.name) {
        EXPECT_TRUE(std::ranges::any_of(wanted.components,
                                        [&](const auto& one) {
                                          return one.name == unit.name.component &&
                                                 one.generation == unit.name.generation;
                                        }))
            << "seed " << seed << ": " << unit.name.component << " " << unit.name.generation;
      }
    }
  }
}

bool all_sound(const Target& target) {
  return std::ranges::all_of(target.modules, [](const auto& module) {
    return std::ranges::all_of(module.components, [](const auto& component) {
      return !component.generation.ends_with('x');
    });
  });
}

TEST(ConvergeProperty, EndsAtTheDeclarationFromAnyStateKilledAfterAnyStep) {
  for (unsigned seed = 1; seed <= 20'000; ++seed) {
    AnyState any(seed);
    auto world = any.world();
    bool still = false;
    for (int turn = 0; turn < 200 && !still; ++turn) {
      // A backoff is over some time.
      const auto due = world.turn(any.below(3) == 0 ? 1 : 100);
      still = due == 0 && !world.judge();
      if (still) {
        break;
      }
      if (any.below(3) == 0) {
        world.judge();
      }
    }
    if (!all_sound(world.target())) {
      continue;
    }
    const bool waits = std::ranges::any_of(world.observed().units, [](const auto& unit) {
      return !unit.due || (unit.state == UnitState::Running && unit.standing == Standing::Bad);
    });
    if (!waits) {
      EXPECT_TRUE(still) << "seed " << seed;
      expect_done(world, seed);
      EXPECT_EQ(steps(world.target(), world.observed()).size(), 0U) << "seed " << seed;
    }
  }
}

TEST(ConvergeProperty, NeverStopsWhatRunsBeforeItsImagesAreThere) {
  for (unsigned seed = 1; seed <= 5'000; ++seed) {
    AnyState any(seed);
    auto world = any.world();
    for (const auto& step : steps(world.target(), world.observed())) {
      if (step.action != Action::Stop) {
        continue;
      }
      const auto& modules = world.target().modules;
      const auto module = std::ranges::find(modules, step.module, &WantedModule::name);
      const bool unwanted = module == modules.end();
      const bool former = world.target().former.contains(step.module);
      const auto complete = [&] {
        return std::ranges::all_of(module->components, [&](const auto& component) {
          return component.image.empty() || world.observed().images.contains(component.image) ||
                 std::ranges::any_of(world.observed().units, [&](const auto& one) {
                   return one.name.module == step.module && one.name.component == component.name &&
                          one.name.generation == component.generation;
                 });
        });
      };
      EXPECT_TRUE(unwanted || former || complete()) << "seed " << seed << ": " << step.text();
    }
  }
}

TEST(ConvergeProperty, TheOrderOfUnitsDoesNotMatterToWhatIsDone) {
  for (unsigned seed = 1; seed <= 2'000; ++seed) {
    AnyState any(seed);
    const auto world = any.world();
    auto other = world.observed();
    std::ranges::reverse(other.units);
    auto one = words(steps(world.target(), world.observed()));
    auto two = words(steps(world.target(), other));
    std::ranges::sort(one);
    std::ranges::sort(two);
    EXPECT_EQ(one, two) << "seed " << seed;
  }
}

}  // namespace
}  // namespace mesh::converge
