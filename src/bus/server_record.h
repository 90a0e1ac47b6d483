#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "os/process_mark.h"

namespace mesh::bus {

/// What bus/server.json holds, so that other verbs find the managed server.
struct ServerRecord {
  os::ProcessMark process;  // a pid alone is given to another process later
  std::string host;         // address to dial, without brackets
  int port = 0;
  std::string version;
  std::string program;
  std::string config;  // the configuration's file
  std::string id;      // the server's own id
};

/// The record in `file`, if its process still runs; `nullopt` where there is no file or the process
/// is gone (or the pid is another's). `Corrupt` where the file cannot be read as a record.
[[nodiscard]] Result<std::optional<ServerRecord>> running_server(const std::filesystem::path& file);

/// Replaces the file, which only its owner may read.
[[nodiscard]] Status write_record(const std::filesystem::path& file, const ServerRecord& record);

}  // namespace mesh::bus
