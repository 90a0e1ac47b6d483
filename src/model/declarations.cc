#include "model/declarations.h"

#include <algorithm>

namespace mesh::model {

namespace {

template <class T>
const T* find_named(const std::vector<T>& sorted, std::string_view name) {
  const auto by_name = [](const T& item) -> std::string_view { return item.name.text(); };
  const auto found = std::ranges::lower_bound(sorted, name, {}, by_name);
  return found != sorted.end() && found->name.text() == name ? &*found : nullptr;
}

}  // namespace

std::string BusSettings::listen_or_default() const {
  return listen.value_or("127.0.0.1:4222");
}

std::vector<std::string> BusSettings::urls() const {
  return advertise.empty() ? std::vector{"nats://" + listen_or_default()} : advertise;
}

const Seat* Mesh::seat(std::string_view wanted) const {
  return find_named(seats, wanted);
}
const Module* Mesh::module(std::string_view wanted) const {
  return find_named(modules, wanted);
}
const Node* Mesh::node(std::string_view wanted) const {
  return find_named(nodes, wanted);
}

}  // namespace mesh::model
