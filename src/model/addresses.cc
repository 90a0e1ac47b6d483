#include "model/addresses.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace mesh::model {

namespace {

constexpr int kMostPort = 65535;
constexpr std::size_t kLongestHost = 253;

std::optional<int> number(std::string_view text, int least, int most) {
  int value = 0;
  const auto* begin = std::to_address(text.begin());
  const auto* end = std::to_address(text.end());
  const auto [stop, error] = std::from_chars(begin, end, value);
  const bool whole = error == std::errc{} && stop == end && !text.empty() && text.front() != '-';
  return whole && value >= least && value <= most ? std::optional(value) : std::nullopt;
}

bool is_ip(const std::string& text, int family) {
  std::array<unsigned char, 16> bytes{};
  return inet_pton(family, text.c_str(), bytes.data()) == 1;
}

/// A DNS name, `localhost` or an IPv4 address.
bool is_host(std::string_view text) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  };
  return !text.empty() && text.size() <= kLongestHost && std::ranges::all_of(text, good) &&
         text.front() != '.' && text.front() != '-' && text.find("..") == std::string_view::npos;
}

/// Splits `[v6]rest` or `hostrest` where rest is empty or begins with a colon.
struct HostRest {
  std::string host;
  std::string_view rest;
};
std::optional<HostRest> take_host(std::string_view text) {
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    std::string host(text.substr(1, close == std::string_view::npos ? 0 : close - 1));
    return is_ip(host, AF_INET6) ? std::optional(HostRest{std::move(host), text.substr(close + 1)})
                                 : std::nullopt;
  }
  const auto colon = std::min(text.find(':'), text.size());
  std::string host(text.substr(0, colon));
  return is_host(host) ? std::optional(HostRest{std::move(host), text.substr(colon)})
                       : std::nullopt;
}

/// Whether `text` is `HOST[:PORT]`.
bool is_host_maybe_port(std::string_view text) {
  const auto taken = take_host(text);
  return taken && (taken->rest.empty() ||
                   (taken->rest.front() == ':' && number(taken->rest.substr(1), 1, kMostPort)));
}

std::unexpected<Error> refuse(std::string_view text, std::string_view what, std::string hint = {}) {
  return fail(Code::InvalidArgument, fmt::format("\"{}\" is not {}", printable(text), what),
              std::move(hint));
}

}  // namespace

Result<HostPort> parse_host_port(std::string_view text) {
  const auto taken = take_host(text);
  const auto port = taken && taken->rest.starts_with(':')
                        ? number(taken->rest.substr(1), 1, kMostPort)
                        : std::nullopt;
  if (!port) {
    return refuse(text, "an address", "write HOST:PORT, such as \"127.0.0.1:4222\"");
  }
  return HostPort{taken->host, *port};
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host == "0:0:0:0:0:0:0:1" ||
         (host.starts_with("127.") && is_ip(std::string(host), AF_INET));
}

Result<std::string> parse_listen(std::string_view text) {
  MESH_CHECK(parse_host_port(text));
  return std::string(text);
}

Result<std::string> parse_bus_url(std::string_view text) {
  static constexpr std::string_view kHint = "write nats://HOST:PORT";
  const auto scheme_end = text.find("://");
  const auto scheme = scheme_end == std::string_view::npos ? "nats" : text.substr(0, scheme_end);
  const auto rest = scheme_end == std::string_view::npos ? text : text.substr(scheme_end + 3);
  if (rest.find('@') != std::string_view::npos) {
    return fail(Code::InvalidArgument, "a bus's URL holds no user and no password",
                "mesh gives each module its own; write nats://HOST:PORT");
  }
  if ((scheme != "nats" && scheme != "tls") || !is_host_maybe_port(rest)) {
    return refuse(text, "a bus's URL", std::string(kHint));
  }
  return fmt::format("{}://{}", scheme, rest);
}

Result<std::string> parse_registry_host(std::string_view text) {
  if (!is_host_maybe_port(text)) {
    const auto scheme = text.find("://");
    const auto rest = scheme == std::string_view::npos ? text : text.substr(scheme + 3);
    return refuse(text, "HOST or HOST:PORT",
                  scheme != std::string_view::npos && is_host_maybe_port(rest)
                      ? fmt::format("no scheme: \"{}\"", rest)
                      : "");
  }
  return std::string(text);
}

Result<Port> parse_port(std::string_view text) {
  const auto refused = [&] {
    const bool lone = number(text, 1, kMostPort).has_value();
    return refuse(text, "a port",
                  lone
                      ? fmt::format("write HOST:CONTAINER, such as \"{0}:{0}\", or \"0:{0}\" for a "
                                    "free one",
                                    text)
                      : "write [ADDRESS:]HOST:CONTAINER[/udp], such as \"8080:80\"");
  };
  Port port;
  auto rest = text;
  if (rest.ends_with("/udp")) {
    port.udp = true;
    rest.remove_suffix(4);
  }
  const auto last = rest.rfind(':');
  if (last == std::string_view::npos) {
    return refused();
  }
  const auto container = number(rest.substr(last + 1), 1, kMostPort);
  rest = rest.substr(0, last);
  const auto before = rest.rfind(':');
  const auto host =
      number(before == std::string_view::npos ? rest : rest.substr(before + 1), 0, kMostPort);
  auto address = before == std::string_view::npos ? "127.0.0.1" : rest.substr(0, before);
  const bool v6 = address.starts_with('[') && address.ends_with(']');
  if (v6) {
    address = address.substr(1, address.size() - 2);
  }
  port.address = address;
  if (!container || !host || !is_ip(port.address, v6 ? AF_INET6 : AF_INET)) {
    return refused();
  }
  port.host = *host;
  port.container = *container;
  return port;
}

Result<Volume> parse_volume(std::string_view text) {
  auto parts = split(text, ':');
  const bool mode = parts.size() == 3 && (parts[2] == "ro" || parts[2] == "rw");
  if (parts.size() != (mode ? 3U : 2U) || !parts[1].starts_with('/')) {
    return refuse(text, "a volume", "write NAME:/PATH or /HOST/PATH:/PATH, with :ro to only read");
  }
  if (!parts[0].starts_with('/')) {
    if (parts[0].find('/') != std::string_view::npos || parts[0].starts_with('.')) {
      return refuse(text, "a volume", "a host path is absolute; anything else is a volume's name");
    }
    MESH_CHECK(check_name("volume", parts[0]));
  }
  Volume volume;
  volume.source = parts[0];
  volume.target = parts[1];
  volume.read_only = mode && parts[2] == "ro";
  return volume;
}

}  // namespace mesh::model
