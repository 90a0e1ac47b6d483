#pragma once

#include <string_view>

namespace mesh {

/// Where a host is, as far as its text says. Whoever dials a `Name` asks again for each address
/// that it resolves to.
enum class HostKind {
  Name,       // a DNS name: not known before it is resolved
  Public,     // an address of the internet
  Private,    // RFC 1918, RFC 6598, fc00::/7
  LinkLocal,  // 169.254.0.0/16 (metadata services live there), fe80::/10
  Loopback,   // 127.0.0.0/8, ::1, localhost and names below it
  Special,    // nothing to dial: unspecified, multicast, reserved, and numbers that some resolvers
              // read as addresses (`127.1`, `0x7f000001`, `2130706433`)
};

/// The kind of `host`: a name, an IPv4 address, or an IPv6 address with or without brackets (one
/// that carries an IPv4 address counts as that).
[[nodiscard]] HostKind host_kind(std::string_view host);

}  // namespace mesh
