#include "host/judge.h"

#include <algorithm>

#include <fmt/format.h>

namespace mesh::host {

namespace {

constexpr os::Milliseconds kSettled{2'000};
constexpr os::Milliseconds kRanWell{60'000};
constexpr os::Milliseconds kFirstDelay{1'000};
constexpr os::Milliseconds kLongestDelay{30'000};
constexpr int kEndsUntilBad = 3;
constexpr os::Milliseconds kFirstCheck{250};  // after the first that failed; doubles
constexpr int kQuickChecks = 6;

std::string how_it_ended(const Found& found) {
  if (found.out_of_memory) {
    return "it was ended for want of memory";
  }
  if (!found.exit_code) {
    return "it ended";
  }
  constexpr int kSignals = 128;
  return *found.exit_code > kSignals
             ? fmt::format("signal {} ended it", *found.exit_code - kSignals)
             : fmt::format("it ended with exit code {}", *found.exit_code);
}

/// Whether its policy wants it to run again.
bool runs_again(const declaration::Component& component, const Found& found) {
  const bool ok = found.exit_code == 0 && !found.out_of_memory;
  return component.restart == declaration::Restart::Always ||
         (component.restart == declaration::Restart::OnFailure && !ok);
}

}  // namespace

void Judge::show(Watch& watch, const char* state, const std::string& because, os::WallTime wall) {
  if (watch.shown.state != state) {
    watch.shown.state = state;
    watch.shown.since = os::rfc3339(wall);
  }
  watch.shown.because = because;
  watch.shown.restarts = watch.restarts;
}

os::Monotonic Judge::deadline_of(const Watch& watch) {
  const auto& health = *watch.component.health;
  return watch.running_since + health.start +
         (health.interval + health.timeout) * std::max(0, health.retries);
}

void Judge::become_good(Watch& watch, os::WallTime wall) const {
  watch.good = true;
  watch.ever_good = true;
  watch.bad = false;
  watch.unhealthy = false;
  watch.ends = 0;
  show(watch, "running", "", wall);
}

void Judge::run_began(Watch& watch, bool trusted, os::Monotonic now, os::WallTime wall) {
  watch.state = converge::UnitState::Running;
  watch.running_since = now;
  watch.good = false;
  watch.finished = false;
  watch.unhealthy = false;
  watch.stopping = false;
  watch.failures = 0;
  watch.due.reset();
  watch.next_check.reset();
  if (watch.known && watch.component.health) {
    watch.next_check = now;
  }
  if (trusted) {
    become_good(watch, wall);
  } else {
    show(watch, "starting", watch.component.health ? "its health check has not succeeded yet" : "",
         wall);
  }
}

void Judge::back_off(Watch& watch, const std::string& because, os::Monotonic now,
                     os::WallTime wall) {
  const bool ran_well = watch.good && now - watch.running_since >= kRanWell;
  watch.delay =
      ran_well || watch.delay.count() == 0 ? kFirstDelay : std::min(watch.delay * 2, kLongestDelay);
  watch.due = now + watch.delay;
  ++watch.restarts;
  show(watch, "backoff",
       fmt::format("{}; it starts again after {} s", because, watch.delay.count() / 1000), wall);
}

void Judge::ended(Watch& watch, const Found& found, os::Monotonic now, os::WallTime wall) {
  const bool was_running = watch.state == converge::UnitState::Running;
  watch.state = converge::UnitState::Exited;
  watch.next_check.reset();
  if (watch.stopping) {
    watch.due = now;
    show(watch, "stopped", "the host stopped it", wall);
  } else if (watch.known && !runs_again(watch.component, found)) {
    const bool ok = found.exit_code == 0;
    watch.finished = ok;
    watch.good = ok;
    watch.bad = !ok;
    watch.due.reset();
    show(watch, ok ? "stopped" : "failed", how_it_ended(found), wall);
  } else if (!was_running && watch.started.empty()) {
    watch.due = now;  // it was found like this: after a reboot, say
    show(watch, "stopped", how_it_ended(found), wall);
  } else {
    watch.ends += watch.good ? 0 : 1;
    const auto how = how_it_ended(found);
    back_off(watch, how, now, wall);
    watch.bad = watch.ends >= kEndsUntilBad;
    watch.good = false;
  }
  watch.stopping = false;
}

void Judge::see(const Found& found, const declaration::Component* component, bool trusted,
                os::Monotonic now, os::WallTime wall) {
  const bool is_new = !watches_.contains(found.name);
  auto& watch = watches_[found.name];
  if (component != nullptr && !watch.known) {
    watch.component = *component;
    watch.known = true;
  }
  const auto started =
      found.started ? std::to_string(found.started->time_since_epoch().count()) : "";
  if (found.state == converge::UnitState::Running) {
    if (watch.state != converge::UnitState::Running || watch.started != started) {
      run_began(watch, trusted && is_new, now, wall);
    }
    watch.started = started;
    pass_time(watch, now, wall);
    return;
  }
  const bool another = watch.started != started;
  if (found.state == converge::UnitState::Exited &&
      (watch.state != converge::UnitState::Exited || (another && !is_new))) {
    ended(watch, found, now, wall);
  } else if (found.state == converge::UnitState::Created) {
    watch.state = converge::UnitState::Created;
    if (watch.shown.state.empty()) {
      show(watch, "starting", "it is made, and not started yet", wall);
    }
  }
  watch.started = started;
}

void Judge::pass_time(Watch& watch, os::Monotonic now, os::WallTime wall) const {
  if (watch.state != converge::UnitState::Running || watch.good || !watch.known) {
    return;
  }
  if (!watch.component.health) {
    if (now - watch.running_since >= kSettled) {
      become_good(watch, wall);
    }
    return;
  }
  if (now >= deadline_of(watch) && !watch.bad) {
    watch.bad = true;
    watch.unhealthy = true;
    show(watch, "unhealthy",
         fmt::format("its health check did not succeed within {} s: {}",
                     std::chrono::duration_cast<std::chrono::seconds>(deadline_of(watch) -
                                                                      watch.running_since)
                         .count(),
                     watch.shown.because),
         wall);
  }
}

void Judge::keep_only(const std::vector<converge::UnitName>& names) {
  std::erase_if(watches_, [&](const auto& entry) {
    return std::ranges::find(names, entry.first) == names.end();
  });
}

void Judge::checked(const converge::UnitName& name, bool healthy, const std::string& because,
                    os::Monotonic now, os::WallTime wall) {
  const auto found = watches_.find(name);
  if (found == watches_.end() || found->second.state != converge::UnitState::Running ||
      !found->second.component.health) {
    return;
  }
  auto& watch = found->second;
  const auto interval = watch.component.health->interval;
  watch.next_check = now + interval;
  if (healthy) {
    watch.failures = 0;
    become_good(watch, wall);
    return;
  }
  ++watch.failures;
  if (!watch.good && !watch.unhealthy && watch.failures <= kQuickChecks) {
    // One that comes up is asked again soon, so that nothing waits for it longer than it takes.
    watch.next_check = now + std::min(interval, kFirstCheck * (1 << (watch.failures - 1)));
  }
  if (watch.good && watch.failures >= watch.component.health->retries) {
    watch.good = false;
    watch.unhealthy = true;
    ++watch.restarts;
    show(watch, "unhealthy", fmt::format("{} checks failed in a row: {}", watch.failures, because),
         wall);
  } else if (!watch.good) {
    show(watch, watch.bad ? "unhealthy" : "starting", because, wall);
  }
  pass_time(watch, now, wall);
}

void Judge::tick(os::Monotonic now, os::WallTime wall) {
  for (auto& [name, watch] : watches_) {
    pass_time(watch, now, wall);
  }
}

void Judge::started(const converge::UnitName& name, os::WallTime wall) {
  auto& watch = watches_[name];
  watch.due.reset();
  watch.stopping = false;
  if (watch.state != converge::UnitState::Running) {
    show(watch, "starting", "", wall);
  }
}

void Judge::failed_to_start(const converge::UnitName& name, const std::string& because,
                            os::Monotonic now, os::WallTime wall) {
  auto& watch = watches_[name];
  ++watch.ends;
  watch.bad = watch.ends >= kEndsUntilBad;
  back_off(watch, because, now, wall);
}

void Judge::stopping(const converge::UnitName& name) {
  watches_[name].stopping = true;
}

converge::Unit Judge::unit(const converge::UnitName& name, os::Monotonic now) const {
  converge::Unit out;
  out.name = name;
  const auto found = watches_.find(name);
  if (found == watches_.end()) {
    return out;
  }
  const auto& watch = found->second;
  out.state = watch.state;
  const bool runs = watch.state == converge::UnitState::Running;
  out.standing = watch.bad                                ? converge::Standing::Bad
                 : (runs && watch.good) || watch.finished ? converge::Standing::Good
                                                          : converge::Standing::Pending;
  // One that ended and has no time to start again is over; one that was made is due at once.
  const bool over = watch.known && watch.state == converge::UnitState::Exited;
  out.due = watch.due ? *watch.due <= now : !over;
  out.unhealthy = runs && watch.unhealthy;
  out.because = watch.shown.because;
  return out;
}

UnitStanding Judge::standing(const converge::UnitName& name) const {
  const auto found = watches_.find(name);
  return found == watches_.end() ? UnitStanding{"unknown", "", "", 0} : found->second.shown;
}

std::vector<converge::UnitName> Judge::due_checks(os::Monotonic now) {
  std::vector<converge::UnitName> out;
  for (auto& [name, watch] : watches_) {
    if (watch.next_check && *watch.next_check <= now) {
      watch.next_check.reset();
      out.push_back(name);
    }
  }
  return out;
}

std::optional<os::Monotonic> Judge::next() const {
  std::optional<os::Monotonic> out;
  const auto take = [&](os::Monotonic at) { out = out ? std::min(*out, at) : at; };
  for (const auto& [name, watch] : watches_) {
    if (watch.due) {
      take(*watch.due);
    }
    if (watch.next_check) {
      take(*watch.next_check);
    }
    if (watch.state == converge::UnitState::Running && !watch.good && !watch.bad && watch.known) {
      take(watch.component.health ? deadline_of(watch) : watch.running_since + kSettled);
    }
  }
  return out;
}

}  // namespace mesh::host
