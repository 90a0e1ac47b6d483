#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/clock.h"
#include "secrets/secret.h"

/// The mesh's own certificate authority, and the certificates that it gives to the mesh's servers:
/// ECDSA on P-256, which every TLS library that a client of NATS or of a registry is built on takes
/// (Ed25519 is younger than some of them). Keys are drawn by OpenSSL's own generator.
namespace mesh::certificates {

/// How long an authority lasts, and a server's certificate. Both begin a little in the past, since
/// another machine's clock may be behind.
inline constexpr std::chrono::days kAuthorityLife{20 * 365};
inline constexpr std::chrono::days kServerLife{90};
inline constexpr std::chrono::hours kSkew{1};

/// A certificate and its key, in PEM form.
struct Pair {
  std::string certificate;
  secrets::Secret key;  // PKCS #8

  /// Both, one after the other: servers read either from a file that holds the two.
  [[nodiscard]] secrets::Secret together() const;
};

/// What `Pair::together` wrote, or one of its halves alone. Errors: Corrupt (it is not both, or the
/// key is another's).
[[nodiscard]] Result<Pair> read_pair(std::string_view pem);

/// A new authority. `id` is the mesh's, and stands in its name. Errors: Internal (OpenSSL).
[[nodiscard]] Result<Pair> make_authority(const std::string& id, os::WallTime now);

/// A certificate for a server that is dialled by `hosts`: names, and IPv4 or IPv6 addresses without
/// brackets; at least one. It ends with its authority at the latest. Errors: InvalidArgument (no
/// host, or one that no certificate can name), Internal (OpenSSL).
[[nodiscard]] Result<Pair> issue(const Pair& authority, std::span<const std::string> hosts,
                                 os::WallTime now);

/// What a certificate says.
struct Facts {
  std::vector<std::string> hosts;  // names and addresses, sorted, each once
  os::WallTime from;
  os::WallTime until;
};

/// Errors: Corrupt (no certificate).
[[nodiscard]] Result<Facts> read_facts(std::string_view certificate);

/// True where `certificate` was signed by `authority`.
[[nodiscard]] bool is_signed_by(std::string_view certificate, std::string_view authority);

/// `hosts` as `Facts` has them: in lower case, addresses in their shortest form, sorted, each once.
[[nodiscard]] std::vector<std::string> normal_hosts(std::span<const std::string> hosts);

}  // namespace mesh::certificates
