#pragma once

#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/digest.h"
#include "broker/accounts.h"
#include "broker/compose.h"
#include "broker/principals.h"
#include "model/subjects.h"

// For tests that link mesh_broker.
namespace mesh::test {

/// Something of the shape of a bcrypt hash, the same for the same user; no password fits it.
inline std::string fake_hash(const std::string& user) {
  return "$2a$04$" + sha256_hex(user).substr(0, 53);
}

/// A hash for each user of the accounts, SYS included.
inline broker::Hashes fake_hashes(std::span<const broker::Account> accounts) {
  broker::Hashes hashes;
  for (const auto& account : accounts) {
    for (const auto& user : account.users) {
      hashes[user] = fake_hash(user);
    }
  }
  return hashes;
}

/// What a managed server of either version is given.
inline broker::ServerSettings managed_settings(bool ack_flag = false) {
  broker::ServerSettings settings;
  settings.listen = "127.0.0.1:4222";
  settings.store_dir = "/var/lib/mesh/jetstream";
  settings.server_name = "home";
  settings.ack_flag = ack_flag;
  return settings;
}

/// A mesh's configuration with all that it is made of.
struct Composed {
  std::vector<broker::Principal> principals;
  std::vector<broker::Account> accounts;
  Result<std::string> text;
};

inline Composed compose_for(const model::Mesh& mesh,
                            const broker::ServerSettings& settings = managed_settings()) {
  auto principals = broker::principals(mesh);
  auto accounts = broker::accounts(mesh, principals);
  auto text = broker::compose(settings, accounts, principals, fake_hashes(accounts));
  return {std::move(principals), std::move(accounts), std::move(text)};
}

}  // namespace mesh::test
