#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "secrets/secret.h"
#include "secrets/signing.h"

namespace mesh::declaration {

/// What `mesh node add` prints once and `mesh-host join` takes: all that a machine needs to become
/// the node.
struct Token {
  std::string mesh;
  std::string node;
  std::vector<std::string> urls;  // of the bus
  std::string ca;                 // PEM; empty: the system's
  secrets::PublicKey controller;
  secrets::PublicKey recovery;
  secrets::Secret password;  // of the bus, until the node has one of its own
  std::int64_t expires = 0;  // seconds since 1970
};

/// `mesh-join-` and base64url.
[[nodiscard]] secrets::Secret write_token(const Token& token);
/// Errors: InvalidArgument (no token, cut off or mistyped); its text holds nothing of the token.
[[nodiscard]] Result<Token> read_token(std::string_view text);

/// The keys of a machine that joins. They never leave it; their public halves do.
struct JoinRequest {
  secrets::PublicKey key;  // signs, and, converted, is sealed to
  std::string proof;       // its signature over the mesh's id, the node and the incarnation
  friend bool operator==(const JoinRequest&, const JoinRequest&) = default;
};

[[nodiscard]] JoinRequest request_join(const secrets::SigningKey& key, const std::string& mesh,
                                       const std::string& node, const std::string& incarnation);
[[nodiscard]] bool is_proved(const JoinRequest& request, const std::string& mesh,
                             const std::string& node, const std::string& incarnation);

}  // namespace mesh::declaration
