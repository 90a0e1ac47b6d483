#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/declarations.h"

namespace mesh::model {

struct HostPort {
  std::string host;  // without brackets
  int port = 0;
};

/// `HOST:PORT`, the host a name, an IPv4 address or an IPv6 address in brackets; port 1 to 65535.
/// Errors: InvalidArgument.
[[nodiscard]] Result<HostPort> parse_host_port(std::string_view text);

/// Whether `host` can only be reached from the machine itself: 127.0.0.0/8, ::1 or `localhost`.
[[nodiscard]] bool is_loopback(std::string_view host);

// Each returns its text as it may be used, or InvalidArgument.

/// `HOST:PORT` of a listener, as written.
[[nodiscard]] Result<std::string> parse_listen(std::string_view text);
/// A bus's URL, `nats://HOST[:PORT]` or `tls://…`, without credentials; `HOST[:PORT]` gets
/// `nats://`.
[[nodiscard]] Result<std::string> parse_bus_url(std::string_view text);
/// `HOST[:PORT]` of a registry, no scheme.
[[nodiscard]] Result<std::string> parse_registry_host(std::string_view text);

/// `[ADDRESS:]HOST:CONTAINER[/udp]`; the address is 127.0.0.1 where none is given, IPv6 in
/// brackets. (The place is the caller's.)
[[nodiscard]] Result<Port> parse_port(std::string_view text);

/// `NAME:TARGET[:ro]` or `/HOST/PATH:TARGET[:ro]`.
[[nodiscard]] Result<Volume> parse_volume(std::string_view text);

}  // namespace mesh::model
