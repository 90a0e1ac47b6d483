#include "model/hints.h"

#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace mesh::model {

namespace {

std::string did_you_mean(const std::string& near) {
  return near.empty() ? "" : fmt::format("did you mean \"{}\"?", near);
}

template <class T>
std::string nearest_of(const std::vector<T>& named, const std::string& name) {
  std::vector<std::string> names;
  names.reserve(named.size());
  for (const auto& item : named) {
    names.push_back(item.name.text());
  }
  return nearest(name, names);
}

template <class T>
std::vector<std::string> texts_of(const std::vector<Located<T>>& items) {
  std::vector<std::string> texts;
  texts.reserve(items.size());
  for (const auto& item : items) {
    texts.push_back(item.value.text());
  }
  return texts;
}

}  // namespace

std::string module_hint(const Crossing& crossing, const std::string& name) {
  return crossing.report.wants_hints() ? did_you_mean(nearest_of(crossing.mesh.modules, name)) : "";
}

std::string seat_hint(const Crossing& crossing, const std::string& name) {
  const auto near =
      crossing.report.wants_hints() ? nearest_of(crossing.mesh.seats, name) : std::string();
  return near.empty() ? fmt::format("declare it in mesh.toml: [seats.{}] with accepts", name)
                      : did_you_mean(near);
}

std::string tool_hint(const Crossing& crossing, const Module& module, const std::string& name) {
  const auto near =
      crossing.report.wants_hints() ? nearest_of(module.file->tools, name) : std::string();
  return near.empty() ? fmt::format("add [tools.{}] to its module.toml", name)
                      : did_you_mean(fmt::format("{}.{}", module.name.text(), near));
}

std::string event_hint(const Crossing& crossing, const std::vector<Located<EventName>>& emits,
                       const std::string& owner, const std::string& name) {
  const auto near = crossing.report.wants_hints() ? nearest(name, texts_of(emits)) : std::string();
  return near.empty() ? "" : did_you_mean(owner + near);
}

std::string verb_hint(const Crossing& crossing, const Seat& seat, const std::string& name) {
  if (!crossing.report.wants_hints()) {
    return {};
  }
  const auto accepts = texts_of(seat.accepts);
  const auto near = nearest(name, accepts);
  return near.empty() ? fmt::format("it accepts {}", join(accepts, ", ")) : did_you_mean(near);
}

}  // namespace mesh::model
