#include "host/machine.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "os/files.h"

namespace mesh::host {

namespace {

constexpr os::Milliseconds kLookAgain{20'000};
constexpr os::Milliseconds kLookAgainBlind{2'000};  // where a driver tells of no changes
constexpr os::Milliseconds kFirstPullDelay{2'000};
constexpr os::Milliseconds kLongestPullDelay{60'000};
constexpr os::Milliseconds kStepDelay{2'000};
constexpr std::size_t kLastLines = 10;

using converge::Action;
using converge::Step;
using converge::UnitName;

}  // namespace

Machine::Machine(MachineOptions options, Drivers drivers, Store& store, Mailbox& mailbox,
                 const os::Clock& clock)
    : options_(std::move(options)),
      drivers_(std::move(drivers)),
      store_(store),
      mailbox_(mailbox),
      clock_(clock),
      prober_([this](const UnitName& name, const std::string& because) {
        judge_.checked(name, because.empty(), because, clock_.monotonic(), clock_.now());
      }) {
  declared();
}

Machine::~Machine() = default;

void Machine::say(const std::string& line) const {
  if (options_.say) {
    options_.say(line);
  }
}

// What is declared.

void Machine::declared() {
  relay_.reset();
  options_.place.bridge_urls.clear();
  prepare();
  pulls_.clear();
  retry_.clear();
  failed_step_.clear();
  looked_ = {};
}

void Machine::prepare() {
  declared_.clear();
  former_.clear();
  blocked_.clear();
  if (!store_.current()) {
    return;
  }
  for (const auto& module : store_.current()->declaration.modules) {
    prepare_module(*store_.current(), module);
  }
}

void Machine::prepare_module(const Opened& opened, const declaration::Module& module) {
  auto made = ready_module(opened, module, options_.place);
  if (!made) {
    blocked_[module.name] = made.error().message;
    return;
  }
  for (const auto& component : module.components) {
    if (auto allowed = check_allowed(component, options_.allowance); !allowed) {
      blocked_[module.name] = fmt::format("{}: {}", component.name, allowed.error().message);
    }
  }
  const auto note = store_.notes().find(module.name);
  if (note != store_.notes().end() && !note->second.accepted.empty() &&
      note->second.accepted != made->wanted.generation()) {
    if (const auto* earlier = store_.at(note->second.accepted_number)) {
      for (const auto& was : earlier->declaration.modules) {
        auto former = was.name == module.name
                          ? ready_module(*earlier, was, options_.place)
                          : Result<ReadyModule>(fail(Code::NotFound, "another module"));
        if (former && former->wanted.generation() == note->second.accepted) {
          former_.emplace(module.name, *std::move(former));
        }
      }
    }
  }
  declared_.emplace(module.name, *std::move(made));
}

const ReadyUnit* Machine::ready(const UnitName& name) const {
  for (const auto* modules : {&declared_, &former_}) {
    const auto module = modules->find(name.module);
    if (module == modules->end()) {
      continue;
    }
    const auto unit = module->second.units.find(name);
    if (unit != module->second.units.end()) {
      return &unit->second;
    }
  }
  return nullptr;
}

Driver* Machine::driver_of(const ReadyUnit& unit) const {
  return unit.spec.component.image.empty() ? drivers_.commands.get() : drivers_.containers.get();
}

Driver* Machine::holder_of(const UnitName& unit) const {
  const auto found = found_.find(unit);
  if (found != found_.end()) {
    return found->second.second;
  }
  const auto* made = ready(unit);
  return made == nullptr ? nullptr : driver_of(*made);
}

bool Machine::wants_containers() const {
  const auto has_image = [](const auto& entry) {
    return std::ranges::any_of(entry.second.units, [](const auto& unit) {
      return !unit.second.spec.component.image.empty();
    });
  };
  return std::ranges::any_of(declared_, has_image) || std::ranges::any_of(former_, has_image);
}

// What to do.

converge::Target Machine::target() const {
  converge::Target out;
  for (const auto& [name, module] : declared_) {
    const bool blocked = blocked_.contains(name);
    const auto former = former_.find(name);
    if (!blocked) {
      out.modules.push_back(module.wanted);
    } else if (former != former_.end()) {
      out.modules.push_back(former->second.wanted);
    }
    if (!blocked && former != former_.end()) {
      out.former.emplace(name, former->second.wanted);
    }
  }
  for (const auto& [name, note] : store_.notes()) {
    if (!note.rejected.empty()) {
      out.rejected[name] = note.rejected;
    }
  }
  return out;
}

converge::Observed Machine::observed() const {
  converge::Observed out;
  const auto now = clock_.monotonic();
  for (const auto& [name, entry] : found_) {
    out.units.push_back(judge_.unit(name, now));
  }
  out.images = images_;
  for (const auto& [image, pull] : pulls_) {
    if (pull.again > now) {
      out.unpullable[image] = pull.why;
    }
  }
  for (const auto& [name, note] : store_.notes()) {
    out.accepted[name] = note.accepted;
  }
  return out;
}

void Machine::turn() {
  const auto now = clock_.monotonic();
  if (must_look(now)) {
    seen_ = look();
  }
  prober_.go_on(now);
  judge_.tick(now, clock_.now());
  probe();
  if (stopping_all_ || !store_.current()) {
    return;
  }
  const auto wanted = target();
  const auto there = observed();
  if (seen_) {
    take(converge::steps(wanted, there));
  }
  const bool all = converge::converged(wanted, there);
  converged_ = seen_ && all && blocked_.empty() && workers_.idle();
}

void Machine::take(const std::vector<Step>& steps) {
  std::map<std::string, std::vector<Step>> by_module;
  for (const auto& step : steps) {
    by_module[step.module].push_back(step);
  }
  const auto now = clock_.monotonic();
  for (auto& [module, own] : by_module) {
    const auto retry = retry_.find(module);
    const bool untouchable = blocked_.contains(module) && !former_.contains(module);
    if (workers_.busy(module) || untouchable || (retry != retry_.end() && retry->second > now)) {
      continue;
    }
    std::vector<Step> work;
    for (auto& step : own) {
      if (step.action == Action::Accept || step.action == Action::Reject) {
        note(step);
        prepare();
      } else {
        work.push_back(std::move(step));
      }
    }
    if (!work.empty()) {
      begin(module, std::move(work));
    } else {
      looked_ = {};
    }
  }
}

void Machine::note(const Step& step) {
  ModuleNote note;
  const auto known = store_.notes().find(step.module);
  if (known != store_.notes().end()) {
    note = known->second;
  }
  if (step.action == Action::Accept) {
    note = {step.generation, store_.number(), "", ""};
  } else {
    note.rejected = step.generation;
    note.because = step.because;
    say(fmt::format("{}: {}; the former one is put back", step.module, step.because));
    if (auto* driver = holder_of(step.unit)) {
      if (auto lines = driver->logs(step.unit, {}, kLastLines)) {
        last_lines_[step.unit] = std::move(lines->lines);
      }
    }
  }
  if (auto kept = store_.note(step.module, std::move(note)); !kept) {
    trouble_ = kept.error().message;
  }
}

void Machine::begin(const std::string& module, std::vector<Step> steps) {
  struct Work {
    Step step;
    std::optional<ReadyUnit> unit;
    Driver* driver;
  };
  std::vector<Work> work;
  for (auto& step : steps) {
    const auto* unit = ready(step.unit);
    if (step.action == Action::Create && unit != nullptr && waits_for_bridge(*unit)) {
      failed_step_[module] = "its container could not reach the bus yet: " + trouble_;
      retry_[module] = clock_.monotonic() + kStepDelay;
      return;
    }
    Driver* driver = step.action == Action::Pull ? drivers_.containers.get() : holder_of(step.unit);
    if (step.action == Action::Stop) {
      judge_.stopping(step.unit);
    }
    say(step.text());
    work.push_back(
        {std::move(step), unit == nullptr ? std::nullopt : std::optional(*unit), driver});
  }
  workers_.run(module, [this, module, work = std::move(work)] {
    for (const auto& one : work) {
      const auto done =
          one.driver == nullptr
              ? Status(fail(Code::Unsupported, "this machine runs no such components"))
              : do_step(one.step, one.unit ? &*one.unit : nullptr, *one.driver);
      mailbox_.post([this, step = one.step, done] { step_done(step, done); });
      if (!done) {
        break;
      }
    }
    mailbox_.post([this, module] {
      workers_.done(module);
      looked_ = {};
    });
  });
}

Status Machine::do_step(const Step& step, const ReadyUnit* unit, Driver& driver) {
  switch (step.action) {
    case Action::Pull:
      return driver.pull(step.image, options_.pull);
    case Action::Create:
      if (unit == nullptr) {
        return fail(Code::Internal, "it is not known how to make it");
      }
      MESH_CHECK(write_files(*unit));
      return driver.create(unit->spec);
    case Action::Start:
      return driver.start(step.unit);
    case Action::Stop: {
      const auto grace = unit == nullptr ? os::Milliseconds{10'000} : unit->spec.component.grace;
      const auto stopped = driver.stop(step.unit, grace);
      return stopped ? Status() : Status(std::unexpected(stopped.error()));
    }
    case Action::Remove:
      MESH_CHECK(driver.remove(step.unit));
      return os::remove_tree(files_directory(options_.place, step.unit));
    case Action::Accept:
    case Action::Reject:
      break;
  }
  return {};
}

void Machine::step_done(const Step& step, const Status& done) {
  const auto now = clock_.monotonic();
  if (step.action == Action::Pull) {
    pull_done(step.image, done);
    return;
  }
  if (done) {
    failed_step_.erase(step.module);
    if (step.action == Action::Start) {
      judge_.started(step.unit, clock_.now());
    }
    return;
  }
  const auto why = fmt::format("cannot {} {}: {}", converge::action_name(step.action),
                               step.unit.component, done.error().message);
  say(step.module + ": " + why);
  failed_step_[step.module] = why;
  if (step.action == Action::Start) {
    judge_.failed_to_start(step.unit, done.error().message, now, clock_.now());
  } else {
    retry_[step.module] = now + kStepDelay;
  }
}

void Machine::pull_done(const std::string& image, const Status& done) {
  if (done) {
    images_.insert(image);
    pulls_.erase(image);
    return;
  }
  auto& pull = pulls_[image];
  pull.why = done.error().message;
  pull.delay =
      pull.delay.count() == 0 ? kFirstPullDelay : std::min(pull.delay * 2, kLongestPullDelay);
  pull.again = clock_.monotonic() + pull.delay;
  say(fmt::format("cannot pull {}: {}", image, pull.why));
}

os::Monotonic Machine::look_again() const {
  const bool blind = (drivers_.containers && drivers_.containers->changes() < 0) ||
                     (drivers_.commands && drivers_.commands->changes() < 0);
  return looked_ + (blind || !unseen_.empty() ? kLookAgainBlind : kLookAgain);
}

/// Whether something may be another than when it was looked at last: a look asks for every unit.
bool Machine::must_look(os::Monotonic now) const {
  if (looked_ == os::Monotonic{} || now >= look_again()) {
    return true;
  }
  std::vector<pollfd> changed;
  for (const auto* driver : {drivers_.commands.get(), drivers_.containers.get()}) {
    if (driver != nullptr && driver->changes() >= 0) {
      changed.push_back({driver->changes(), POLLIN, 0});
    }
  }
  return ::poll(changed.data(), changed.size(), 0) != 0;
}

os::Monotonic Machine::next() const {
  const auto now = clock_.monotonic();
  auto out = looked_ == os::Monotonic{} ? now : look_again();
  const auto take_one = [&](std::optional<os::Monotonic> at) {
    out = at ? std::min(out, *at) : out;
  };
  take_one(judge_.next());
  take_one(prober_.next());
  for (const auto& [image, pull] : pulls_) {
    take_one(pull.again > now ? std::optional(pull.again) : std::nullopt);
  }
  for (const auto& [module, at] : retry_) {
    take_one(at > now ? std::optional(at) : std::nullopt);
  }
  return out;
}

void Machine::add_to(std::vector<pollfd>& polled) const {
  prober_.add_to(polled);
  for (const auto* driver : {drivers_.containers.get(), drivers_.commands.get()}) {
    if (driver != nullptr && driver->changes() >= 0) {
      polled.push_back({driver->changes(), POLLIN, 0});
    }
  }
}

}  // namespace mesh::host
