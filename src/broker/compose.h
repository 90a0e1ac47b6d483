#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "broker/accounts.h"

namespace mesh::broker {

/// What the file says beside accounts. `listen` and `store_dir` are left out of the file where they
/// are not set (an external server whose own file includes ours).
struct ServerSettings {
  std::optional<std::string> listen;     // HOST:PORT
  std::optional<std::string> store_dir;  // absolute
  std::string server_name;
  bool ack_flag = false;  // the server knows feature_flags { js_ack_fc_v2 } (2.14 and later)
};

/// User name -> bcrypt hash.
using Hashes = std::map<std::string, std::string>;

/// The server's whole configuration, as text: everything quoted, lists sorted; the same arguments
/// give the same bytes. Every user of `accounts` must have a hash. Errors: Internal where one is
/// missing.
[[nodiscard]] Result<std::string> compose(const ServerSettings& settings,
                                          std::span<const Account> accounts,
                                          std::span<const Principal> principals,
                                          const Hashes& hashes);

}  // namespace mesh::broker
