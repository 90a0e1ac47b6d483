#include "model/read_settings.h"

#include <array>
#include <limits>

#include <fmt/format.h>

#include "base/text.h"
#include "model/addresses.h"
#include "model/units.h"

namespace mesh::model {

namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kKiB = 1 << 10;
constexpr std::int64_t kGiB = 1 << 30;
constexpr std::array<std::string_view, 2> kServers = {"managed", "external"};
constexpr Range kCounts = {1, std::numeric_limits<int>::max()};
constexpr Range kAnySize = {kMiB, std::numeric_limits<std::int64_t>::max()};
/// What nats-server carries by default, and each account's limit.
constexpr std::int64_t kLargestPayload = kMiB;
/// The least duplicate window that JetStream takes.
constexpr Milliseconds kLeastDuplicates = 100ms;

void read_server(const Table& table, bool& managed) {
  if (const auto word = table.read_word("server", kServers)) {
    managed = *word == 0;
  }
}

void refuse_keys(const Table& table, std::initializer_list<std::string_view> keys,
                 std::string_view server) {
  for (const auto key : keys) {
    if (table.has(key)) {
      table.report().error(table.key_place(key), "wrong-server",
                           fmt::format("{} is not for server = \"{}\"", key, server),
                           server == "managed"
                               ? "mesh runs a managed server itself; use server = \"external\" for "
                                 "one that others run"
                               : "whoever runs an external server sets this there");
    }
  }
}

/// Whether whoever dials `url` would be heard by others: no TLS, and beyond this machine.
bool is_plain(const std::string& url) {
  constexpr std::string_view kPlain = "nats://";
  const auto host = url.substr(std::min(kPlain.size(), url.size()));
  const auto address = parse_host_port(host);
  return url.starts_with(kPlain) &&
         !is_loopback(address ? address->host : host.substr(0, host.rfind(':')));
}

/// Plain text on the network is refused unless the operator says that it is meant; Mesh's own
/// server speaks TLS by itself.
void check_urls(const Table& table, const BusSettings& bus) {
  for (const auto& url : bus.advertise) {
    if (is_plain(url) && !bus.insecure && !bus.ca) {
      table.error(
          "advertise", "plain-url",
          fmt::format("{} is reachable from outside, and is dialled without TLS", printable(url)),
          "write tls://, with ca where the server has an authority of its own, or set "
          "insecure = true where the network is trusted");
    }
  }
}

void read_advertise(const Table& table, std::vector<std::string>& out) {
  const auto value = table.find("advertise");
  if (!value) {
    return;
  }
  if (value->items()) {
    std::vector<Located<std::string>> urls;
    table.read_list("advertise", "bad-url", parse_bus_url, urls);
    if (value->items()->empty()) {
      table.error("advertise", "empty-list", "advertise names no URL: nobody could dial the bus",
                  "name one, or leave it out to use listen");
    }
    for (auto& url : urls) {
      out.push_back(std::move(url.value));
    }
  } else {
    std::string url;
    table.read("advertise", "bad-url", parse_bus_url, url);
    out.push_back(std::move(url));
  }
}

void check_bus(const Table& table, const BusSettings& bus) {
  if (bus.managed) {
    refuse_keys(table, {"config", "test", "reload", "ca"}, "managed");
    if (bus.replicas > 1) {
      table.error(
          "replicas", "out-of-range",
          fmt::format("replicas = {} needs a cluster, a managed server is one", bus.replicas),
          "use server = \"external\" for a cluster that others run");
    }
    return;
  }
  refuse_keys(table, {"listen", "program"}, "external");
  check_urls(table, bus);
  if (!table.has("config")) {
    table.report().error(table.place(), "missing-key",
                         "[bus] with server = \"external\" needs config",
                         "config is the file that the server includes and mesh owns");
  }
}

/// Reads a size that must be in a range; `out` stays as it is where it is not.
void read_bounded(const Table& table, std::string_view key, Range range, std::int64_t& out) {
  auto size = out;
  table.read(key, "bad-size", parse_size, size);
  if (size < range.least || size > range.most) {
    table.error(key, "out-of-range",
                range.most == kAnySize.most
                    ? fmt::format("{} must be at least {}", key, size_text(range.least))
                    : fmt::format("{} must be {} to {}: the bus carries no more", key,
                                  size_text(range.least), size_text(range.most)));
    return;
  }
  out = size;
}

}  // namespace

EventsSettings default_events() {
  EventsSettings events;
  events.keep = std::chrono::hours(7 * 24);
  events.per_event = 10'000;
  events.largest = 64 * kKiB;
  events.disk = 8 * kGiB;
  events.duplicates = 2min;
  return events;
}

Delivery default_delivery() {
  Delivery delivery;
  delivery.within = 30s;
  delivery.attempts = 10;
  delivery.backoff = {1s, 5s, 30s, 2min, 10min};
  delivery.in_flight = 1000;
  return delivery;
}

RegistrySettings default_registry() {
  RegistrySettings registry;
  registry.listen = "127.0.0.1:5000";
  return registry;
}

void read_bus(const Table& table, BusSettings& out) {
  out.place = table.place();
  read_server(table, out.managed);
  table.read("listen", "bad-address", parse_listen, out.listen);
  read_advertise(table, out.advertise);
  table.read("program", out.program);
  table.read("replicas", {1, 5}, out.replicas);
  table.read("insecure", out.insecure);
  table.read("config", out.config);
  table.read("test", out.test);
  table.read("reload", out.reload);
  table.read("ca", out.ca);
  check_bus(table, out);
}

void read_events(const Table& table, EventsSettings& out) {
  out.place = table.place();
  table.read("keep", "bad-duration", parse_time, out.keep);
  table.read("per-event", {1, std::numeric_limits<std::int64_t>::max()}, out.per_event);
  read_bounded(table, "largest", {1, kLargestPayload}, out.largest);
  read_bounded(table, "disk", kAnySize, out.disk);
  table.read("duplicates", "bad-duration", parse_time, out.duplicates);
  if (out.duplicates < kLeastDuplicates || out.duplicates > out.keep) {
    table.error("duplicates", "out-of-range", "duplicates must be 100ms to keep");
  }
}

void read_delivery(const Table& table, Delivery& out) {
  out.place = table.place();
  table.read("within", "bad-duration", parse_time, out.within);
  table.read("attempts", kCounts, out.attempts);
  table.read("in-flight", kCounts, out.in_flight);
  if (table.has("backoff")) {
    out.backoff.clear();
    for (const auto& text : table.texts("backoff", /*once=*/false)) {
      if (const auto wait = table.accept("bad-duration", text.place, parse_duration(text.value))) {
        out.backoff.push_back(*wait);
      }
    }
  }
}

void read_registry(const Table& table, RegistrySettings& out) {
  out.place = table.place();
  out.declared = true;
  read_server(table, out.managed);
  table.read("listen", "bad-address", parse_listen, out.listen);
  table.read("advertise", "bad-address", parse_registry_host, out.advertise);
  table.read("insecure", out.insecure);
  table.read("ca", out.ca);
  if (out.managed) {
    refuse_keys(table, {"ca"}, "managed");
    return;
  }
  refuse_keys(table, {"listen"}, "external");
  if (!table.has("advertise")) {
    table.report().error(table.place(), "missing-key",
                         "[registry] with server = \"external\" needs advertise",
                         "advertise is the HOST:PORT that machines pull from");
  }
}

void read_upstreams(const Table& top, std::map<std::string, Upstream>& out) {
  for (const auto& entry : top.entries("upstreams")) {
    const Table table(entry.value, kUpstream, entry.key);
    Upstream upstream;
    upstream.place = entry.place;
    table.read("insecure", upstream.insecure);
    table.read("ca", upstream.ca);
    table.read("mirror", "bad-address", parse_registry_host, upstream.mirror);
    if (top.accept("bad-address", entry.place, parse_registry_host(entry.key))) {
      out.emplace(entry.key, std::move(upstream));
    }
  }
}

}  // namespace mesh::model
