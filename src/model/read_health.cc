#include "model/read_health.h"

#include <limits>

#include <fmt/format.h>

#include "model/units.h"

namespace mesh::model {

namespace {

using namespace std::chrono_literals;

constexpr Range kPorts = {1, 65535};

Health default_health(const Table& table) {
  Health health;
  health.interval = 10s;
  health.timeout = 2s;
  health.retries = 3;
  health.start = 30s;
  health.place = table.place();
  return health;
}

int count_kinds(const Table& table) {
  return (table.has("http") ? 1 : 0) + (table.has("tcp") ? 1 : 0) + (table.has("command") ? 1 : 0);
}

void read_kind(const Table& table, Health& health) {
  table.read("http", health.http);
  table.read("command", health.command);
  bool tcp = true;
  table.read("tcp", tcp);
  if (!tcp) {
    table.error("tcp", "out-of-range", "tcp must be true, or be left out");
  }
  health.kind = table.has("http")      ? Health::Kind::Http
                : table.has("command") ? Health::Kind::Command
                                       : Health::Kind::Tcp;
  if (table.has("http") && table.find("http")->text() != nullptr && !health.http.starts_with('/')) {
    table.error("http", "bad-path", "http must be a path that begins with /",
                "such as \"/healthz\"");
  }
  if (table.has("command") && table.find("command")->items() && health.command.empty()) {
    table.error("command", "empty-list", "command names no program");
  }
}

void check_port(const Table& table, const Health& health) {
  const bool needs = health.kind != Health::Kind::Command;
  if (needs && !table.has("port")) {
    table.report().error(table.place(), "missing-key", fmt::format("{} needs port", table.shown()),
                         "the port that the component listens on");
  } else if (!needs && table.has("port")) {
    table.report().error(table.key_place("port"), "unused-key",
                         "port is for http and tcp, a command needs none");
  }
}

}  // namespace

std::optional<Health> read_health(const Table& table) {
  if (!table.usable()) {
    return std::nullopt;
  }
  auto health = default_health(table);
  read_kind(table, health);
  table.read("port", kPorts, health.port);
  table.read("interval", "bad-duration", parse_time, health.interval);
  table.read("timeout", "bad-duration", parse_time, health.timeout);
  table.read("retries", {1, std::numeric_limits<int>::max()}, health.retries);
  table.read("start", "bad-duration", parse_duration, health.start);
  if (count_kinds(table) != 1) {
    table.report().error(
        table.place(), count_kinds(table) == 0 ? "missing-key" : "several-kinds",
        fmt::format("{} needs exactly one of http, tcp and command", table.shown()));
    return health;
  }
  check_port(table, health);
  return health;
}

}  // namespace mesh::model
