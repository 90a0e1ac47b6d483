#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "declaration/envelope.h"
#include "declaration/token.h"
#include "os/random.h"
#include "secrets/secret.h"
#include "secrets/signing.h"

namespace mesh::host {

/// Who this machine is in its mesh: what joining made of it. It lies in `identity.json` of the
/// state, 0600, and its key never leaves the machine.
struct Identity {
  std::string mesh;
  std::string node;
  std::vector<std::string> urls;  // of the bus
  std::string ca;                 // PEM; empty: the system's
  secrets::PublicKey controller;
  secrets::PublicKey recovery;
  secrets::SigningKey key;
  secrets::Secret password;               // of the bus: the token's, until another was given
  std::optional<secrets::Secret> former;  // the one before, until the new one was seen to work
  bool joined = false;                    // a declaration was accepted

  /// A machine that begins to join: with a key of its own, made from `random`.
  [[nodiscard]] static Result<Identity> from_token(const declaration::Token& token,
                                                   os::Random& random);
};

/// Errors: NotFound (the machine has not joined), Corrupt, those of the file.
[[nodiscard]] Result<Identity> read_identity(const std::string& state);
/// Replaces it in one step.
[[nodiscard]] Status write_identity(const std::string& state, const Identity& identity);

}  // namespace mesh::host
