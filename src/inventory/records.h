#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "inventory/image_records.h"
#include "model/read.h"
#include "secrets/secret.h"
#include "secrets/signing.h"

/// What the inventory holds, as values. Times are RFC 3339 in UTC.
namespace mesh::inventory {

/// Which mesh this is.
struct Identity {
  std::string mesh_id;
  std::string name;  // as first declared
  secrets::PublicKey signing_key;
  secrets::PublicKey recovery_key;
  std::string created;
};

/// A push begins as Intended; it is Recorded once what it did was proved.
enum class PushState { Intended, Recorded };

struct Push {
  std::int64_t number = 0;
  std::string time;    // when it was intended
  std::string by;      // user@host
  std::string verb;    // `push`, `rollback`, …
  std::string digest;  // of the plan
  PushState state = PushState::Intended;
  friend bool operator==(const Push&, const Push&) = default;
};

/// A credential to be kept. The secret is sealed on its way in.
struct NewCredential {
  std::string principal;
  std::string hash;
  secrets::Secret secret;
};

/// Principal -> bcrypt hash.
using Hashes = std::map<std::string, std::string>;

/// All that a push intends, kept before the world is touched.
struct Intent {
  std::string by;
  std::string verb;
  std::string digest;
  std::int64_t above = 0;  // the number is greater than this (what nodes report), 0 where unknown
  std::vector<model::AcceptedFile> files;
  std::vector<NewCredential> credentials;
  std::vector<PushImage> images;
};

/// A machine under a declared node's name. One that is not known has neither key nor invitation.
struct NodeRecord {
  std::string name;
  std::optional<secrets::PublicKey> key;  // its public key, once it has joined
  std::optional<std::string> joined;
  std::optional<std::int64_t> expires;  // of its invitation, seconds since 1970
  std::int64_t declared = 0;            // the number of its last declaration
  std::string content;                  // the digest of what that said
  std::string platform;                 // `linux/amd64`, as it reports; empty: not known
};

/// A secret's name and whose it is; `module` is empty for the whole mesh.
struct SecretName {
  std::string module;
  std::string name;
  friend auto operator<=>(const SecretName&, const SecretName&) = default;
};

struct SecretInfo {
  SecretName name;
  std::size_t bytes = 0;
  std::string set_at;
};

}  // namespace mesh::inventory
