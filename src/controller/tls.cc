#include "controller/tls.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

#include <fmt/format.h>

#include "base/digest.h"
#include "base/text.h"
#include "certificates/certificate.h"
#include "model/addresses.h"
#include "os/dial.h"
#include "os/files.h"

namespace mesh::controller {

namespace {

constexpr std::size_t kMostPair = 65536;

bool speaks_tls(const model::Mesh& mesh, Served server) {
  return server == Served::Bus ? mesh.bus.tls() : mesh.registry.tls();
}

std::string listen_of(const model::Mesh& mesh, Served server) {
  return server == Served::Bus ? mesh.bus.listen_or_default() : mesh.registry.listen;
}

/// The host of `[SCHEME://]HOST[:PORT]`, without brackets.
std::string host_of(std::string_view address) {
  const auto scheme = address.find("://");
  address = scheme == std::string_view::npos ? address : address.substr(scheme + 3);
  if (address.starts_with('[')) {
    return std::string(address.substr(1, address.find(']') - 1));
  }
  return std::string(address.substr(0, address.find(':')));
}

/// What mesh.toml says beside `listen`.
std::vector<std::string> declared_addresses(const model::Mesh& mesh, Served server) {
  std::vector<std::string> out;
  if (server == Served::Bus) {
    out = mesh.bus.advertise;
  } else if (mesh.registry.advertise) {
    out.push_back(*mesh.registry.advertise);
  }
  for (const auto& node : mesh.nodes) {
    if (const auto& own = server == Served::Bus ? node.bus : node.registry) {
      out.push_back(*own);
    }
  }
  return out;
}

bool listens_everywhere(const std::string& listen) {
  const auto host = host_of(listen);
  return os::dialled(host) != host;
}

/// Whether the hosts are whatever addresses this machine happens to have.
bool is_by_machine(const model::Mesh& mesh, Served server) {
  const bool advertised =
      server == Served::Bus ? !mesh.bus.advertise.empty() : mesh.registry.advertise.has_value();
  return !advertised && listens_everywhere(listen_of(mesh, server));
}

/// An address that others may dial; empty where it is none.
std::string dialable(const ifaddrs& entry) {
  const auto family = entry.ifa_addr == nullptr ? AF_UNSPEC : entry.ifa_addr->sa_family;
  if ((entry.ifa_flags & IFF_LOOPBACK) != 0 || (entry.ifa_flags & IFF_UP) == 0) {
    return {};
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* raw = entry.ifa_addr;
  if (family == AF_INET) {
    const auto& address = static_cast<const sockaddr_in*>(raw)->sin_addr;
    ::inet_ntop(AF_INET, &address, text.data(), text.size());
    return std::string_view(text.data()).starts_with("169.254.") ? "" : text.data();
  }
  if (family == AF_INET6) {
    const auto& address = static_cast<const sockaddr_in6*>(raw)->sin6_addr;
    ::inet_ntop(AF_INET6, &address, text.data(), text.size());
    return IN6_IS_ADDR_LINKLOCAL(&address) ? "" : text.data();
  }
  return {};
}

Result<certificates::Pair> read_pair_of(const inventory::StatePaths& paths, Served server) {
  MESH_TRY(std::string text, os::read_private_file(certificate_file(paths, server), kMostPair));
  auto pair = certificates::read_pair(text);
  secrets::wipe(text);
  return pair;
}

/// The first of `some` that is not among `all`; both sorted.
std::optional<std::string> first_missing(const std::vector<std::string>& some,
                                         const std::vector<std::string>& all) {
  const auto found = std::ranges::find_if(
      some, [&](const std::string& one) { return !std::ranges::binary_search(all, one); });
  return found == some.end() ? std::nullopt : std::optional(*found);
}

struct Wanted {
  std::vector<std::string> hosts;
  bool by_machine = false;
};

Wanted wanted_hosts(const model::Mesh& mesh, Served server) {
  Wanted out;
  out.by_machine = is_by_machine(mesh, server);
  const auto machine = out.by_machine ? machine_hosts() : std::vector<std::string>();
  out.hosts = served_hosts(mesh, server, machine);
  return out;
}

bool is_near_its_end(const certificates::Facts& facts, os::WallTime now) {
  return facts.until - now < (facts.until - facts.from) / 3;
}

std::optional<std::string> due_by_facts(const certificates::Facts& facts, const Wanted& wanted,
                                        os::WallTime now) {
  if (is_near_its_end(facts, now)) {
    return fmt::format("its certificate ends {}", os::rfc3339(facts.until));
  }
  if (facts.from > now) {
    return fmt::format("its certificate begins {}, later than this machine's clock",
                       os::rfc3339(facts.from));
  }
  if (const auto missing = first_missing(wanted.hosts, facts.hosts)) {
    return fmt::format("its certificate does not name {}", *missing);
  }
  // Addresses of a machine come and go; one that went does no harm.
  const auto extra = first_missing(facts.hosts, wanted.hosts);
  return extra && !wanted.by_machine
             ? std::optional(
                   fmt::format("its certificate names {}, by which it is not dialled", *extra))
             : std::nullopt;
}

Status write_certificate(const inventory::StatePaths& paths, Served server,
                         const std::vector<std::string>& hosts, os::WallTime now) {
  MESH_TRY(const auto authority, inventory::read_authority(paths));
  MESH_TRY(const auto pair, certificates::issue(authority, hosts, now));
  const auto file = certificate_file(paths, server);
  MESH_CHECK(os::make_private_dir(os::dir_name(file)));
  return os::write_file_atomic(file, pair.together().reveal(), os::kPrivateFile);
}

}  // namespace

std::string certificate_file(const inventory::StatePaths& paths, Served server) {
  return (server == Served::Bus ? paths.bus() : paths.registry()) + "/server.pem";
}

std::vector<std::string> served_hosts(const model::Mesh& mesh, Served server,
                                      std::span<const std::string> machine) {
  std::vector<std::string> out;
  const auto listen = listen_of(mesh, server);
  if (listens_everywhere(listen)) {
    out = {"127.0.0.1", "::1", "localhost"};  // what this machine itself dials
  } else {
    out.push_back(host_of(listen));
  }
  for (const auto& address : declared_addresses(mesh, server)) {
    out.push_back(host_of(address));
  }
  if (is_by_machine(mesh, server)) {
    out.insert(out.end(), machine.begin(), machine.end());
  }
  return certificates::normal_hosts(out);
}

std::vector<std::string> dialled_urls(const model::Mesh& mesh, const model::Node& node,
                                      std::span<const std::string> machine) {
  const auto listen = model::parse_host_port(mesh.bus.listen_or_default());
  if (node.bus || !mesh.bus.managed || !listen || !is_by_machine(mesh, Served::Bus)) {
    return mesh.bus_urls(node);
  }
  std::vector<std::string> out;
  for (const auto& host : machine) {
    const bool v6 = host.find(':') != std::string::npos;
    out.push_back(fmt::format(fmt::runtime(v6 ? "{}://[{}]:{}" : "{}://{}:{}"),
                              mesh.bus.tls() ? "tls" : "nats", host, listen->port));
  }
  return out;
}

std::vector<std::string> machine_hosts() {
  std::vector<std::string> out;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) == 0) {
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
    for (const auto* each = first; each != nullptr; each = each->ifa_next) {
      if (auto address = dialable(*each); !address.empty()) {
        out.push_back(std::move(address));
      }
    }
  }
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0') {
    out.emplace_back(name.data());
  }
  return certificates::normal_hosts(out);
}

Result<std::optional<std::string>> certificate_due(const inventory::StatePaths& paths,
                                                   const model::Mesh& mesh, Served server,
                                                   os::WallTime now) {
  if (!speaks_tls(mesh, server)) {
    return std::optional<std::string>();
  }
  const auto there = read_pair_of(paths, server);
  if (!there) {
    return std::optional<std::string>(there.error().code == Code::NotFound
                                          ? "it has no certificate yet"
                                          : "its certificate cannot be read");
  }
  MESH_TRY(const auto authority, inventory::read_authority(paths));
  if (!certificates::is_signed_by(there->certificate, authority.certificate)) {
    return std::optional<std::string>("its certificate is not of this mesh's authority");
  }
  MESH_TRY(const auto facts, certificates::read_facts(there->certificate));
  return due_by_facts(facts, wanted_hosts(mesh, server), now);
}

Result<bool> renew_certificate(const inventory::StatePaths& paths, const model::Mesh& mesh,
                               Served server, os::WallTime now) {
  MESH_TRY(const auto due, certificate_due(paths, mesh, server, now));
  if (!due) {
    return false;
  }
  MESH_CHECK(write_certificate(paths, server, wanted_hosts(mesh, server).hosts, now));
  return true;
}

bool is_certificate_old(const inventory::StatePaths& paths, Served server, os::WallTime now) {
  const auto pair = read_pair_of(paths, server);
  const auto facts = pair ? certificates::read_facts(pair->certificate)
                          : Result<certificates::Facts>(std::unexpected(pair.error()));
  return facts && is_near_its_end(*facts, now);
}

Result<bool> prolong_certificate(const inventory::StatePaths& paths, Served server,
                                 os::WallTime now) {
  if (!is_certificate_old(paths, server, now)) {
    return false;
  }
  MESH_TRY(const auto pair, read_pair_of(paths, server));
  MESH_TRY(const auto facts, certificates::read_facts(pair.certificate));
  MESH_CHECK(write_certificate(paths, server, facts.hosts, now));
  return true;
}

Status ensure_certificate(const inventory::StatePaths& paths, const model::Mesh& mesh,
                          Served server, os::WallTime now) {
  if (!os::exists(certificate_file(paths, server))) {
    MESH_CHECK(renew_certificate(paths, mesh, server, now));
  }
  return {};
}

std::string certificate_mark(const inventory::StatePaths& paths, Served server) {
  const auto pair = read_pair_of(paths, server);
  return pair ? sha256_hex(pair->certificate) : std::string();
}

Result<os::WallTime> certificate_end(const inventory::StatePaths& paths, Served server) {
  MESH_TRY(const auto pair, read_pair_of(paths, server));
  MESH_TRY(const auto facts, certificates::read_facts(pair.certificate));
  return facts.until;
}

}  // namespace mesh::controller
