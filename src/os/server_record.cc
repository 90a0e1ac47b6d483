#include "os/server_record.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "os/files.h"

namespace mesh::os {

namespace {

using nlohmann::json;

constexpr std::size_t kMostRecord = 65536;

std::string text_field(const json& record, const char* key) {
  const auto found = record.find(key);
  return found != record.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::uint64_t count_field(const json& record, const char* key) {
  const auto found = record.find(key);
  return found != record.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

}  // namespace

Result<std::optional<ServerRecord>> running_server(const std::string& file) {
  auto bytes = read_file(file, kMostRecord);
  if (!bytes && bytes.error().code == Code::NotFound) {
    return std::optional<ServerRecord>{};
  }
  MESH_CHECK(bytes);
  const json read = json::parse(*bytes, nullptr, false);
  const auto pid = read.is_object() ? count_field(read, "pid") : 0;
  if (pid == 0 || text_field(read, "host").empty()) {
    return fail(Code::Corrupt, fmt::format("{} is not the record of a server", file),
                "end the server that it describes, if it runs, and remove the file");
  }
  ServerRecord record;
  record.process = {static_cast<pid_t>(pid), count_field(read, "started"),
                    text_field(read, "boot")};
  record.host = text_field(read, "host");
  record.port = static_cast<int>(count_field(read, "port"));
  record.version = text_field(read, "version");
  record.program = text_field(read, "program");
  record.config = text_field(read, "config");
  record.id = text_field(read, "id");
  const auto running = mark_of(record.process.pid);
  if (!running || *running != record.process) {
    return std::optional<ServerRecord>{};
  }
  return std::optional(std::move(record));
}

Status write_record(const std::string& file, const ServerRecord& record) {
  const json written{{"pid", record.process.pid},
                     {"started", record.process.started},
                     {"boot", record.process.boot},
                     {"host", record.host},
                     {"port", record.port},
                     {"version", record.version},
                     {"program", record.program},
                     {"config", record.config},
                     {"id", record.id}};
  return write_file_atomic(file, written.dump(2) + "\n", kPrivateFile);
}

}  // namespace mesh::os
