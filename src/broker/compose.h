#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "broker/accounts.h"
#include "broker/principals.h"

namespace mesh::broker {

/// Files with which the server shows who it is; absolute paths.
struct ServerTls {
  std::string certificate;
  std::string key;
};

/// What the file says beside accounts. With no `listen` and no `store_dir` the text is made to be
/// included by an external server's own file: it says nothing that such a file says itself.
struct ServerSettings {
  std::optional<std::string> listen;     // HOST:PORT
  std::optional<std::string> store_dir;  // absolute
  std::string server_name;               // empty: left out
  bool ack_flag = false;  // the server knows feature_flags { js_ack_fc_v2 } (2.14 and later)
  std::optional<ServerTls> tls = std::nullopt;
};

/// What JetStream may take. Constant, since a change of it needs a restart; streams have limits of
/// their own, and these are above whatever the streams reserve together.
inline constexpr long long kMostMemory = 1LL << 32U;  // bytes
inline constexpr long long kMostDisk = 1LL << 50U;    // bytes

/// User name -> bcrypt hash.
using Hashes = std::map<std::string, std::string>;

/// The server's whole configuration, as text: every string quoted, lists in the order given (the
/// arguments' lists are sorted); the same arguments give the same bytes. `principals` are sorted by
/// name. A user that is no principal gets no permissions block in the account SYS alone. Errors:
/// Internal where a user has no hash, is no principal, or would have an empty list of subjects,
/// which nats-server reads as "everything".
[[nodiscard]] Result<std::string> compose(const ServerSettings& settings,
                                          std::span<const Account> accounts,
                                          std::span<const Principal> principals,
                                          const Hashes& hashes);

}  // namespace mesh::broker
