#include "model/declarations.h"

#include <algorithm>

#include "model/addresses.h"

namespace mesh::model {

namespace {

template <class T>
const T* find_named(const std::vector<T>& sorted, std::string_view name) {
  const auto by_name = [](const T& item) -> std::string_view { return item.name.text(); };
  const auto found = std::ranges::lower_bound(sorted, name, {}, by_name);
  return found != sorted.end() && found->name.text() == name ? &*found : nullptr;
}

bool is_served_with_tls(bool managed, bool insecure, const std::string& listen) {
  const auto address = parse_host_port(listen);
  return managed && !insecure && address && !is_loopback(address->host);
}

/// `url` with the scheme of TLS in place of the plain one.
std::string as_tls(const std::string& url) {
  constexpr std::string_view kPlain = "nats://";
  return url.starts_with(kPlain) ? "tls://" + url.substr(kPlain.size()) : url;
}

}  // namespace

std::string BusSettings::listen_or_default() const {
  return listen.value_or("127.0.0.1:4222");
}

bool BusSettings::tls() const {
  return is_served_with_tls(managed, insecure, listen_or_default());
}

bool RegistrySettings::tls() const {
  return is_served_with_tls(managed, insecure, listen);
}

std::vector<std::string> BusSettings::urls() const {
  auto out = advertise.empty() ? std::vector{"nats://" + listen_or_default()} : advertise;
  for (auto& url : out) {
    url = tls() ? as_tls(url) : std::move(url);
  }
  return out;
}

std::vector<std::string> Mesh::bus_urls(const Node& node) const {
  if (!node.bus) {
    return bus.urls();
  }
  return {bus.tls() ? as_tls(*node.bus) : *node.bus};
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
