#include "host/unit_files.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "os/errno_error.h"
#include "os/fd.h"
#include "os/files.h"
#include "os/lock.h"

namespace mesh::host {

namespace {

using nlohmann::json;

constexpr std::size_t kMostSpec = 64U << 20U;
constexpr std::size_t kMostSmall = 64U << 10U;
constexpr std::size_t kEndSize = 512;

/// JSON is Unicode and an environment is bytes: each byte becomes the character of its number.
std::string to_characters(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80U) {
      out.push_back(c);
    } else {
      out.push_back(static_cast<char>(0xC0U | (byte >> 6U)));
      out.push_back(static_cast<char>(0x80U | (byte & 0x3FU)));
    }
  }
  return out;
}

std::string to_bytes(std::string_view characters) {
  std::string out;
  for (std::size_t i = 0; i < characters.size(); ++i) {
    const auto byte = static_cast<unsigned char>(characters[i]);
    if (byte < 0x80U || i + 1 == characters.size()) {
      out.push_back(characters[i]);
      continue;
    }
    const auto second = static_cast<unsigned char>(characters[++i]);
    out.push_back(static_cast<char>(((byte & 0x03U) << 6U) | (second & 0x3FU)));
  }
  return out;
}

json mark_json(const os::ProcessMark& mark) {
  return {{"pid", mark.pid}, {"started", mark.started}, {"boot", mark.boot}};
}

os::ProcessMark kept_mark(const json& object) {
  return {object.at("pid").get<pid_t>(), object.at("started").get<std::uint64_t>(),
          object.at("boot").get<std::string>()};
}

template <class T>
void put_optional(json& object, const char* key, const std::optional<T>& value) {
  object[key] = value ? json(*value) : json(nullptr);
}

template <class T>
std::optional<T> get_optional(const json& object, const char* key) {
  const auto& value = object.at(key);
  return value.is_null() ? std::nullopt : std::optional<T>(value.get<T>());
}

json spec_json(const KeptSpec& spec) {
  json run = json::array();
  for (const auto& word : spec.run) {
    run.push_back(to_characters(word));
  }
  json environment = json::object();
  for (const auto& [name, value] : spec.environment) {
    environment[to_characters(name)] = to_characters(value);
  }
  json out = {{"mesh", spec.mesh},
              {"node", spec.node},
              {"unit", unit_text(spec.name)},
              {"run", std::move(run)},
              {"environment", std::move(environment)},
              {"directory", to_characters(spec.directory)},
              {"log_size", spec.log_size},
              {"grace", spec.grace.count()},
              {"folder", to_characters(spec.folder)},
              {"files", to_characters(spec.files)}};
  put_optional(out, "memory", spec.limits.memory);
  put_optional(out, "cpus", spec.limits.cpus);
  put_optional(out, "pids", spec.limits.pids);
  put_optional(out, "uid", spec.identity ? std::optional(spec.identity->uid) : std::nullopt);
  return out;
}

KeptSpec kept_spec(const json& object) {
  KeptSpec spec;
  spec.mesh = object.at("mesh").get<std::string>();
  spec.node = object.at("node").get<std::string>();
  spec.name = unit_named(object.at("unit").get<std::string>()).value_or(converge::UnitName{});
  for (const auto& word : object.at("run")) {
    spec.run.push_back(to_bytes(word.get_ref<const std::string&>()));
  }
  for (const auto& [name, value] : object.at("environment").items()) {
    spec.environment[to_bytes(name)] = to_bytes(value.get_ref<const std::string&>());
  }
  spec.directory = to_bytes(object.at("directory").get<std::string>());
  spec.log_size = object.at("log_size").get<std::int64_t>();
  spec.grace = os::Milliseconds(object.at("grace").get<std::int64_t>());
  spec.folder = to_bytes(object.at("folder").get<std::string>());
  spec.files = to_bytes(object.at("files").get<std::string>());
  spec.limits.memory = get_optional<std::int64_t>(object, "memory");
  spec.limits.cpus = get_optional<double>(object, "cpus");
  spec.limits.pids = get_optional<int>(object, "pids");
  if (const auto uid = get_optional<uid_t>(object, "uid")) {
    spec.identity = os::Identity{*uid, *uid};
  }
  return spec;
}

KeptRun kept_run(const json& object) {
  return {kept_mark(object.at("keeper")), object.at("pid").get<std::int64_t>(),
          object.at("at").get<std::int64_t>(), object.at("since_boot").get<std::int64_t>()};
}

KeptEnd kept_end(const json& object) {
  return {kept_mark(object.at("keeper")), object.at("code").get<int>(),
          object.at("killed").get<bool>(), object.at("out_of_memory").get<bool>(),
          object.at("at").get<std::int64_t>()};
}

/// The record in `path`, by `convert`.
template <class T>
Result<T> read_record(const std::string& path, std::size_t most, T (*convert)(const json&)) {
  MESH_TRY(const auto text, os::read_file(path, most));
  try {
    return convert(json::parse(text));
  } catch (const json::exception&) {
    // Its text holds secrets, and the library quotes.
    return fail(Code::Corrupt, path + " cannot be read");
  }
}

Status write_record(const std::string& path, const json& record) {
  return os::write_file_atomic(path, record.dump() + "\n", os::kPrivateFile);
}

/// Over what is there already, in place: that takes no room. Nobody reads it before it is renamed.
Status overwrite(const std::string& path, const std::string& text) {
  const os::Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid() ||
      ::pwrite(fd.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
      ::fsync(fd.get()) != 0) {
    return os::fail_errno(path, errno);
  }
  return {};
}

}  // namespace

Result<KeptSpec> UnitFiles::read_spec() const {
  return read_record<KeptSpec>(spec(), kMostSpec, kept_spec);
}

Status UnitFiles::write_spec(const KeptSpec& kept) const {
  return write_record(spec(), spec_json(kept));
}

Result<KeptRun> UnitFiles::read_run() const {
  return read_record<KeptRun>(directory_ + "/run.json", kMostSmall, kept_run);
}

Status UnitFiles::write_run(const KeptRun& run) const {
  return write_record(directory_ + "/run.json", {{"keeper", mark_json(run.keeper)},
                                                 {"pid", run.pid},
                                                 {"at", run.started},
                                                 {"since_boot", run.since_boot}});
}

Result<KeptEnd> UnitFiles::read_end() const {
  return read_record<KeptEnd>(directory_ + "/ended.json", kMostSmall, kept_end);
}

Status UnitFiles::reserve_end() const {
  return os::write_file_atomic(directory_ + "/ended.next", std::string(kEndSize, ' '),
                               os::kPrivateFile);
}

Status UnitFiles::write_end(const KeptEnd& end) const {
  const auto path = directory_ + "/ended.json";
  const json record = {{"keeper", mark_json(end.keeper)},
                       {"code", end.code},
                       {"killed", end.killed},
                       {"out_of_memory", end.out_of_memory},
                       {"at", end.ended}};
  auto text = record.dump();
  text.resize(std::max(text.size(), kEndSize), ' ');
  const auto next = directory_ + "/ended.next";
  if (!overwrite(next, text)) {
    return write_record(path, record);
  }
  if (::rename(next.c_str(), path.c_str()) != 0) {
    return os::fail_errno(path, errno);
  }
  return os::sync_dir(directory_);
}

os::Cgroup UnitFiles::read_cgroup() const {
  std::vector<std::string> directories;
  const auto text = os::read_file(directory_ + "/cgroups", kMostSmall);
  for (const auto line : split(text ? std::string_view(*text) : std::string_view(), '\n')) {
    if (!line.empty()) {
      directories.emplace_back(line);
    }
  }
  return os::Cgroup(std::move(directories));
}

Status UnitFiles::write_cgroup(const os::Cgroup& cgroup) const {
  return os::write_file_atomic(directory_ + "/cgroups", join(cgroup.directories(), "\n") + "\n",
                               os::kPrivateFile);
}

std::string unit_text(const converge::UnitName& name) {
  return fmt::format("{}.{}.{}", name.module, name.component, name.generation);
}

std::optional<converge::UnitName> unit_named(std::string_view text) {
  const auto parts = split(text, '.');
  if (parts.size() != 3 || parts[0].empty() || parts[1].empty() || parts[2].empty()) {
    return std::nullopt;
  }
  return converge::UnitName{std::string(parts[0]), std::string(parts[1]), std::string(parts[2])};
}

std::optional<pid_t> running_keeper(const UnitFiles& files) {
  const auto holder = os::Lock::holder(files.lock());
  // One that has not written its name yet has the name of the holder before, or none.
  return holder && (holder->verb == "keep" || holder->verb.empty()) ? std::optional(holder->pid)
                                                                    : std::nullopt;
}

std::int64_t since_boot() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace mesh::host
