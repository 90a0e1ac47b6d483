#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "base/text.h"
#include "model/addresses.h"
#include "model/after.h"
#include "model/env.h"
#include "model/paths.h"
#include "model/read_health.h"
#include "model/read_module_toml.h"
#include "model/units.h"

namespace mesh::model {

namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kLogSize = 10 << 20;
constexpr Milliseconds kGrace = 10s;
constexpr std::array<std::string_view, 3> kNetworks = {"bridge", "host", "none"};
constexpr std::array<std::string_view, 3> kRestarts = {"always", "on-failure", "never"};
/// What a component that is a plain process cannot have.
constexpr std::array<std::string_view, 10> kContainerOnly = {
    "command", "entrypoint",   "files",     "volumes", "devices",
    "network", "capabilities", "read-only", "tmpfs",   "init"};

Result<std::string> as_written_path(std::string_view text) {
  MESH_CHECK(parse_relative_path(text));
  return std::string(text);
}

Result<std::string> parse_platform(std::string_view text) {
  const auto parts = split(text, '/');
  const bool empty = std::ranges::any_of(parts, [](auto part) { return part.empty(); });
  if (parts.size() < 2 || parts.size() > 3 || empty) {
    return fail(Code::InvalidArgument, fmt::format("\"{}\" is not a platform", printable(text)),
                "write OS/ARCHITECTURE, such as \"linux/amd64\"");
  }
  return std::string(text);
}

Result<std::string> parse_image(std::string_view text) {
  const bool space = std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7F; });
  if (text.empty() || space || text.find("://") != std::string_view::npos) {
    return fail(Code::InvalidArgument,
                fmt::format("\"{}\" is not an image's reference", printable(text)),
                "write HOST/REPOSITORY:TAG, without a scheme");
  }
  return std::string(text);
}

template <class T>
void append(std::vector<Located<T>> from, std::vector<T>& to) {
  for (auto& item : from) {
    to.push_back(std::move(item.value));
  }
}

Build read_build_table(const Table& table) {
  Build build;
  build.context = ".";
  std::vector<Located<std::string>> secrets;
  std::vector<Located<std::string>> platforms;
  table.read("context", "bad-path", as_written_path, build.context);
  table.read("containerfile", "bad-path", as_written_path, build.containerfile);
  table.read("target", build.target);
  read_texts(table, "args", build.args);
  table.read_list("secrets", "bad-secret-name", parse_secret_name, secrets);
  table.read_list("platforms", "bad-platform", parse_platform, platforms);
  append(std::move(secrets), build.secrets);
  append(std::move(platforms), build.platforms);
  return build;
}

void read_build(const Table& table, std::string_view name, Component& out) {
  const auto value = table.find("build");
  if (!value) {
    return;
  }
  out.build = Build{};
  if (value->is_table()) {
    out.build = read_build_table(Table(*value, kBuild, name));
  } else {
    table.read("build", "bad-path", as_written_path, out.build->context);
  }
}

void check_kind(const Table& table) {
  std::string found;
  int count = 0;
  for (const std::string_view key : {"build", "image", "run"}) {
    if (table.has(key)) {
      found += (count++ > 0 ? " and " : "") + std::string(key);
    }
  }
  if (count > 1) {
    table.report().error(table.place(), "several-kinds",
                         fmt::format("{} has {}", table.shown(), found),
                         "a component is exactly one of build, image and run");
  } else if (count == 0) {
    table.report().error(table.place(), "missing-key",
                         fmt::format("{} says neither build nor image nor run", table.shown()),
                         "a component is exactly one of build, image and run");
  }
}

void check_run(const Table& table) {
  if (!table.has("run")) {
    return;
  }
  for (const auto key : kContainerOnly) {
    if (table.has(key)) {
      table.report().error(table.key_place(key), "not-with-run",
                           fmt::format("{} cannot go with run", key),
                           "run starts a plain process; only a container has it");
    }
  }
}

/// A command is at least a program.
void check_command(const Table& table, std::string_view key) {
  const auto value = table.find(key);
  const auto items = value ? value->items() : std::nullopt;
  if (items && (items->empty() || (items->front().text() && items->front().text()->empty()))) {
    table.error(key, "empty-list", fmt::format("{} names no program", key));
  }
}

void read_ports(const Table& table, std::vector<Port>& out) {
  std::vector<Located<Port>> ports;
  table.read_list("ports", "bad-port", parse_port, ports);
  for (auto& port : ports) {
    port.value.place = std::move(port.place);
    out.push_back(std::move(port.value));
  }
}

void read_volumes(const Table& table, std::vector<Volume>& out) {
  std::vector<Located<Volume>> volumes;
  table.read_list("volumes", "bad-volume", parse_volume, volumes);
  for (auto& volume : volumes) {
    volume.value.place = std::move(volume.place);
    out.push_back(std::move(volume.value));
  }
}

void read_files(const Table& table, std::map<std::string, std::string>& out) {
  read_texts(table, "files", out);
  for (const auto& entry : table.entries("files")) {
    if (!entry.key.starts_with('/')) {
      table.report().error(
          entry.place, "bad-path",
          fmt::format("\"{}\" is not an absolute path in the container", printable(entry.key)),
          "files = { \"/path/in/the/container\" = \"file-beside-module.toml\" }");
    }
    if (const auto* text = entry.value.text()) {
      static_cast<void>(table.accept("bad-path", entry.value.place(), parse_inner_path(*text)));
    }
  }
}

void read_cpus(const Table& table, std::optional<double>& out) {
  const auto value = table.find("cpus");
  if (!value) {
    return;
  }
  out = value->number();
  if (!out) {
    table.wrong_type("cpus", *value);
  } else if (*out <= 0) {
    table.error("cpus", "out-of-range", "cpus must be more than 0");
  }
}

void read_limits(const Table& table, Component& out) {
  table.read("memory", "bad-size", parse_size, out.memory);
  if (out.memory && *out.memory == 0) {
    table.error("memory", "out-of-range", "memory must be more than nothing");
  }
  read_cpus(table, out.cpus);
  int pids = 0;
  table.read("pids", {1, std::numeric_limits<int>::max()}, pids);
  if (pids > 0) {
    out.pids = pids;
  }
  table.read("grace", "bad-duration", parse_duration, out.grace);
  table.read("log-size", "bad-size", parse_size, out.log_size);
}

void read_words(const Table& table, Component& out) {
  if (const auto word = table.read_word("network", kNetworks)) {
    out.network = kNetworks.at(*word);
  }
  if (const auto word = table.read_word("restart", kRestarts)) {
    out.restart = static_cast<Restart>(*word);
  }
}

void read_container(const Table& table, Component& out) {
  table.read("command", out.command);
  table.read("entrypoint", out.entrypoint);
  table.read("user", out.user);
  read_files(table, out.files);
  read_volumes(table, out.volumes);
  table.read("devices", out.devices);
  table.read("capabilities", out.capabilities);
  table.read("read-only", out.read_only);
  table.read("tmpfs", out.tmpfs);
  table.read("init", out.init);
}

Component read_component(const Table& table, ComponentName name, Place place) {
  Component out{std::move(name)};
  out.grace = kGrace;
  out.log_size = kLogSize;
  out.place = std::move(place);
  read_build(table, out.name.text(), out);
  table.read("image", "bad-image", parse_image, out.image);
  table.read("run", out.run);
  read_container(table, out);
  read_env(table, "env", out.env);
  table.read_list("secrets", "bad-secret-name", parse_secret_name, out.secrets);
  read_ports(table, out.ports);
  read_limits(table, out);
  read_words(table, out);
  for (auto& other : table.texts("after", /*once=*/true)) {
    out.after.push_back(std::move(other.value));
  }
  if (const auto health = table.find("health")) {
    out.health = read_health(Table(*health, kHealth, out.name.text()));
  }
  check_kind(table);
  check_run(table);
  check_command(table, "run");
  return out;
}

}  // namespace

std::vector<Component> read_components(const Table& top) {
  std::vector<Component> out;
  for (const auto& entry : top.entries("components")) {
    const Table table(entry.value, kComponent, entry.key);
    auto name = top.accept("bad-name", entry.place, ComponentName::parse(entry.key));
    if (!table.usable()) {
      continue;
    }
    auto component = read_component(table, name.value_or(stand_in<ComponentName>()), entry.place);
    if (name) {
      out.push_back(std::move(component));
    }
  }
  check_after(top, out);
  return out;
}

}  // namespace mesh::model
