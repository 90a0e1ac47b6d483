// What is there: units, images, the bridge, and what health checks say.

#include <algorithm>

#include <fmt/format.h>

#include "host/machine.h"

namespace mesh::host {

using converge::UnitName;

bool Machine::look_at(Driver& driver, const char* what, bool needed) {
  auto listed = driver.list();
  if (!listed) {
    const bool absent = listed.error().code == Code::Unavailable && !needed;
    if (!absent) {
      unseen_.insert(what);
      trouble_ = fmt::format("{}: {}", what, listed.error().message);
    }
    return absent;
  }
  const auto now = clock_.monotonic();
  for (auto& one : *listed) {
    const auto* unit = ready(one.name);
    const auto note = store_.notes().find(one.name.module);
    const auto module = declared_.find(one.name.module);
    const bool trusted = note != store_.notes().end() && module != declared_.end() &&
                         note->second.accepted == module->second.wanted.generation();
    judge_.see(one, unit == nullptr ? nullptr : &unit->spec.component, trusted, now, clock_.now());
    auto name = one.name;
    found_.insert_or_assign(std::move(name), std::pair(std::move(one), &driver));
  }
  return true;
}

bool Machine::look() {
  found_.clear();
  trouble_.clear();
  unseen_.clear();
  looked_ = clock_.monotonic();
  if (drivers_.commands) {
    look_at(*drivers_.commands, "commands", true);
  }
  if (drivers_.containers) {
    look_at(*drivers_.containers, "the container engine", wants_containers());
    engine_ = drivers_.containers->about();
  }
  if (!unseen_.empty()) {
    return false;  // what cannot be seen is not forgotten
  }
  std::vector<UnitName> names;
  for (const auto& [name, entry] : found_) {
    names.push_back(name);
  }
  judge_.keep_only(names);
  look_for_images();
  find_bridge();
  return true;
}

/// A bus on this machine's loopback is relayed to where containers on the bridge reach it.
void Machine::find_bridge() {
  if (relay_ || !drivers_.containers || !wants_containers() || !store_.current()) {
    return;
  }
  const auto& urls = store_.current()->declaration.bus.urls;
  const int port = urls.empty() ? 0 : loopback_port(urls.front());
  if (port == 0) {
    return;
  }
  const auto gateway = drivers_.containers->gateway();
  auto relay = gateway ? Relay::start(*gateway, port)
                       : Result<std::unique_ptr<Relay>>(std::unexpected(gateway.error()));
  if (!relay) {
    trouble_ = relay.error().message;
    return;
  }
  relay_ = *std::move(relay);
  options_.place.bridge_urls = {fmt::format("nats://{}:{}", *gateway, port)};
  prepare();
}

bool Machine::waits_for_bridge(const ReadyUnit& unit) const {
  const auto& component = unit.spec.component;
  const auto& urls = store_.current()->declaration.bus.urls;
  return !component.image.empty() && component.network == "bridge" && !relay_ && !urls.empty() &&
         loopback_port(urls.front()) != 0;
}

void Machine::look_for_images() {
  if (!drivers_.containers) {
    return;
  }
  for (const auto* modules : {&declared_, &former_}) {
    for (const auto& [name, module] : *modules) {
      for (const auto& [unit, made] : module.units) {
        const auto& image = made.spec.component.image;
        if (image.empty() || images_.contains(image) || found_.contains(unit)) {
          continue;
        }
        if (drivers_.containers->has_image(image).value_or(false)) {
          images_.insert(image);
        }
      }
    }
  }
}

void Machine::probe() {
  for (const auto& name : judge_.due_checks(clock_.monotonic())) {
    const auto* unit = ready(name);
    const auto found = found_.find(name);
    if (unit == nullptr || found == found_.end() || !unit->spec.component.health) {
      continue;
    }
    const auto& health = *unit->spec.component.health;
    if (health.kind == declaration::Health::Kind::Command) {
      auto* driver = found->second.second;
      const auto key = "check " + name.module + "." + name.component + "." + name.generation;
      if (workers_.busy(key)) {
        continue;
      }
      workers_.run(key, [this, key, name, driver, health] {
        const auto code = driver->execute(name, health.command, health.timeout);
        const auto because = !code        ? code.error().message
                             : *code == 0 ? std::string()
                                          : fmt::format("its command ended with {}", *code);
        mailbox_.post([this, key, name, because] {
          workers_.done(key);
          judge_.checked(name, because.empty(), because, clock_.monotonic(), clock_.now());
        });
      });
      continue;
    }
    const auto& seen = found->second.first;
    const auto port = seen.ports.find(health.port);
    prober_.begin(
        {name, seen.address, port == seen.ports.end() ? health.port : port->second,
         health.kind == declaration::Health::Kind::Http ? std::optional(health.path) : std::nullopt,
         health.timeout},
        clock_.monotonic());
  }
}

}  // namespace mesh::host
