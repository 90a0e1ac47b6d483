#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "declaration/component.h"
#include "secrets/secret.h"
#include "secrets/signing.h"

namespace mesh::declaration {

/// The format that this version writes. A host runs this one and the one before.
inline constexpr int kFormat = 1;

/// The most that a declaration may have, in bytes: what the bus carries in one message, with room
/// for its subject and headers.
inline constexpr std::size_t kLargest = (std::size_t{1} << 20U) - 4096;

/// An instance of a module on the node.
struct Module {
  std::string name;
  std::string path;      // its folder, relative to mesh.toml: where a checkout is at hand
  std::string user;      // `node.module`
  std::string inbox;     // MESH_INBOX
  std::string consumer;  // MESH_CONSUMER; empty where it consumes nothing
  std::string seats;     // MESH_SEATS
  std::string tools;     // MESH_TOOLS_FILE's text
  Sealed password;
  Sealed key;
  std::vector<Component> components;
  friend bool operator==(const Module&, const Module&) = default;
};

/// A key of the controller to come, signed by one that the host already trusts.
struct NextKey {
  std::string key;  // 32 bytes
  std::string
      signature;  // over `mesh-next-key`, a zero byte, the mesh's id, a zero byte and the key
  friend bool operator==(const NextKey&, const NextKey&) = default;
};

struct Bus {
  std::vector<std::string> urls;
  std::string ca;  // PEM; empty: the system's
  friend bool operator==(const Bus&, const Bus&) = default;
};

struct Registry {
  std::string address;  // by which images are named; empty where the mesh has none
  std::string ca;       // PEM
  bool insecure = false;
  bool login = false;  // it asks for the node's credential
  friend bool operator==(const Registry&, const Registry&) = default;
};

/// The whole desired state of one node.
struct Declaration {
  int format = kFormat;
  std::string mesh;  // its id
  std::string node;
  std::int64_t number = 0;
  Bus bus;
  Registry registry;
  std::vector<Module> modules;  // sorted by name
  std::optional<NextKey> next_key;
  std::string sealed;  // secrets::seal_to the node's key, of a `Values` text; empty: none
  friend bool operator==(const Declaration&, const Declaration&) = default;
};

/// Sealed values by their names. `password` is the node's own credential, where it gets a new one.
using Values = std::map<std::string, secrets::Secret>;

/// The name under which a node finds its own new password.
inline constexpr const char* kNodePassword = "node/password";
std::string password_name(const std::string& module);
std::string key_name(const std::string& module);
/// A secret as that module sees it.
std::string secret_name(const std::string& module, const std::string& secret);

/// The declaration's bytes: JSON, the same for the same value.
[[nodiscard]] std::string write(const Declaration& declaration);
/// Errors: Unsupported (a later format, or one before the last), Corrupt (naming the key).
[[nodiscard]] Result<Declaration> read(std::string_view bytes);

/// The text that is sealed, and back. Errors: Corrupt.
[[nodiscard]] secrets::Secret write_values(const Values& values);
[[nodiscard]] Result<Values> read_values(const secrets::Secret& text);

}  // namespace mesh::declaration
