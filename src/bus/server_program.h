#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/version.h"

namespace mesh::bus {

using mesh::parse_version;
using mesh::Version;

/// The first version that Mesh works with. 2.9 ignores several filters of a consumer, and loses
/// answers through imports in a reload.
inline constexpr Version kOldestServer{2, 10, 0};

/// A program that can be run as the bus.
struct ServerProgram {
  std::filesystem::path path;
  Version version;
};

/// How long a program may take to say its version.
inline constexpr std::chrono::milliseconds kVersionWithin{10'000};

/// The nats-server to run: `program` where it is given ([bus] program, a path or a name on PATH),
/// otherwise `<directory of this executable>/../tools/nats-server`, otherwise `nats-server` on
/// PATH; of the last two the first that is 2.10 or later. `NotFound` where there is none,
/// `Unsupported` where all that were found are too old: the text says which and why.
[[nodiscard]] Result<ServerProgram> find_server(const std::optional<std::string>& program,
                                                const std::filesystem::path& executable_directory,
                                                std::chrono::milliseconds within = kVersionWithin);

/// What `program -v` says. `Unsupported` below 2.10, `Timeout` where it does not end.
[[nodiscard]] Result<ServerProgram> examine_server(
    const std::filesystem::path& program, std::chrono::milliseconds within = kVersionWithin);

/// A configuration that the server accepted.
struct Proof {
  std::string digest;  // `sha256:…`; empty where this version prints none (before 2.11)
};

/// Lets `program` itself judge the configuration (`-t -c config`), without running it.
/// `InvalidArgument` with the server's words, and the file and line where it gives them as place.
[[nodiscard]] Result<Proof> prove_config(const std::filesystem::path& program,
                                         const std::filesystem::path& config,
                                         std::chrono::milliseconds timeout);

}  // namespace mesh::bus
