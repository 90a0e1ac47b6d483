#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "os/process_mark.h"

namespace mesh::os {

/// What the record of a managed server (server.json) holds, so that other processes find it.
struct ServerRecord {
  ProcessMark process;  // a pid alone is given to another process later
  std::string host;     // address to dial, without brackets
  int port = 0;
  std::string version;
  std::string program;
  std::string config;  // what it was started with
  std::string id;      // by which it is told from another that listens there
};

/// The record in `file`, if its process still runs; `nullopt` where there is no file or the process
/// is gone (or the pid is another's). `Corrupt` where the file cannot be read as a record.
[[nodiscard]] Result<std::optional<ServerRecord>> running_server(const std::string& file);

/// Replaces the file, which only its owner may read.
[[nodiscard]] Status write_record(const std::string& file, const ServerRecord& record);

}  // namespace mesh::os
