#include "bus/server_record.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bus/json_fields.h"
#include "os/files.h"

namespace mesh::bus {

namespace {

using nlohmann::json;

constexpr std::size_t kMostRecord = 65536;

}  // namespace

Result<std::optional<ServerRecord>> running_server(const std::filesystem::path& file) {
  auto bytes = os::read_file(file.string(), kMostRecord);
  if (!bytes && bytes.error().code == Code::NotFound) {
    return std::optional<ServerRecord>{};
  }
  MESH_CHECK(bytes);
  const json read = json::parse(*bytes, nullptr, false);
  const auto pid = integer(read, "pid", 0);
  if (pid <= 0 || text(read, "host").empty()) {
    return fail(Code::Corrupt, fmt::format("{} is not the record of a server", file.string()),
                "end the nats-server that it describes, if it runs, and remove the file");
  }
  ServerRecord record;
  record.process = {static_cast<pid_t>(pid), count(read, "started"), text(read, "boot")};
  record.host = text(read, "host");
  record.port = static_cast<int>(count(read, "port"));
  record.version = text(read, "version");
  record.program = text(read, "program");
  record.config = text(read, "config");
  record.id = text(read, "id");
  const auto running = os::mark_of(record.process.pid);
  if (!running || *running != record.process) {
    return std::optional<ServerRecord>{};
  }
  return std::optional(std::move(record));
}

Status write_record(const std::filesystem::path& file, const ServerRecord& record) {
  const json written{{"pid", record.process.pid},
                     {"started", record.process.started},
                     {"boot", record.process.boot},
                     {"host", record.host},
                     {"port", record.port},
                     {"version", record.version},
                     {"program", record.program},
                     {"config", record.config},
                     {"id", record.id}};
  return os::write_file_atomic(file.string(), written.dump(2) + "\n", os::kPrivateFile);
}

}  // namespace mesh::bus
