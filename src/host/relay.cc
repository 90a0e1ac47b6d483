#include "host/relay.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <vector>

#include <fmt/format.h>

namespace mesh::host {

namespace {

constexpr std::size_t kWindow = 65536;
constexpr std::size_t kMostPairs = 1024;
constexpr int kBacklog = 64;

sockaddr_in relay_address(const std::string& host, int port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, host.c_str(), &out.sin_addr);
  return out;
}

const sockaddr* generic(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);  // NOLINT: as the sockets' interface has it
}

/// One direction: what was read and is not written yet.
struct Flow {
  std::string bytes{};
  bool ended = false;  // nothing more comes
  bool shut = false;   // the other side was told so
};

/// False where the connection is broken.
bool read_some(int fd, Flow& flow) {
  const auto had = flow.bytes.size();
  flow.bytes.resize(kWindow);
  const auto got = ::recv(fd, flow.bytes.data() + had, kWindow - had, 0);
  flow.bytes.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  flow.ended = flow.ended || got == 0;
  return got >= 0 || errno == EAGAIN || errno == EINTR;
}

bool write_some(int fd, Flow& flow) {
  if (!flow.bytes.empty()) {
    const auto sent = ::send(fd, flow.bytes.data(), flow.bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) {
      return errno == EAGAIN || errno == EINTR;
    }
    flow.bytes.erase(0, static_cast<std::size_t>(sent));
  }
  if (flow.ended && flow.bytes.empty() && !flow.shut) {
    ::shutdown(fd, SHUT_WR);
    flow.shut = true;
  }
  return true;
}

short wanted(const Flow& in, const Flow& out) {
  const int events = (!in.ended && in.bytes.size() < kWindow ? POLLIN : 0) |
                     (!out.bytes.empty() || (out.ended && !out.shut) ? POLLOUT : 0);
  return static_cast<short>(events);
}

/// A container's connection and the one to the bus.
struct RelayPair {
  os::Fd container;
  os::Fd bus;
  Flow up{};    // container -> bus
  Flow down{};  // bus -> container

  /// False where it is over.
  bool go_on(short container_events, short bus_events) {
    constexpr int kReadable = POLLIN | POLLHUP | POLLERR;
    bool well = true;
    if ((container_events & kReadable) != 0 && !up.ended && up.bytes.size() < kWindow) {
      well = well && read_some(container.get(), up);
    }
    if ((bus_events & kReadable) != 0 && !down.ended && down.bytes.size() < kWindow) {
      well = well && read_some(bus.get(), down);
    }
    well = well && write_some(bus.get(), up) && write_some(container.get(), down);
    return well && !(up.shut && down.shut) && ((container_events | bus_events) & POLLNVAL) == 0;
  }
};

}  // namespace

Relay::Relay(os::Fd listener, os::Fd stop, int port)
    : listener_(std::move(listener)), stop_(std::move(stop)), port_(port) {
  thread_ = std::thread([this] { loop(); });
}

Relay::~Relay() {
  const std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

Result<std::unique_ptr<Relay>> Relay::start(const std::string& address, int port) {
  os::Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  os::Fd stop(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!listener.valid() || !stop.valid()) {
    return fail(Code::Resource, "no descriptor for the relay to the bus");
  }
  const int yes = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  // The bridge may come up with its first container only.
  ::setsockopt(listener.get(), IPPROTO_IP, IP_FREEBIND, &yes, sizeof yes);
  const auto where = relay_address(address, port);
  if (::bind(listener.get(), generic(where), sizeof where) != 0 ||
      ::listen(listener.get(), kBacklog) != 0) {
    return fail(Code::Conflict, fmt::format("containers are to reach the bus at {}:{}: {}", address,
                                            port, std::strerror(errno)));  // NOLINT
  }
  return std::unique_ptr<Relay>(new Relay(std::move(listener), std::move(stop), port));
}

void Relay::loop() {
  std::vector<RelayPair> pairs;
  std::vector<pollfd> polled;
  while (true) {
    polled.assign(
        {{stop_.get(), POLLIN, 0},
         {listener_.get(), static_cast<short>(pairs.size() < kMostPairs ? POLLIN : 0), 0}});
    for (const auto& pair : pairs) {
      polled.push_back({pair.container.get(), wanted(pair.up, pair.down), 0});
      polled.push_back({pair.bus.get(), wanted(pair.down, pair.up), 0});
    }
    (void)::poll(polled.data(), polled.size(), -1);
    if (polled[0].revents != 0) {
      return;
    }
    std::size_t at = 2;
    std::erase_if(pairs, [&](RelayPair& pair) {
      const auto container = polled[at].revents;
      const auto bus = polled[at + 1].revents;
      at += 2;
      return (container != 0 || bus != 0) && !pair.go_on(container, bus);
    });
    if (polled[1].revents != 0) {
      os::Fd container(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      os::Fd bus(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      const auto where = relay_address("127.0.0.1", port_);
      const bool dialled =
          container.valid() && bus.valid() &&
          (::connect(bus.get(), generic(where), sizeof where) == 0 || errno == EINPROGRESS);
      if (dialled) {
        pairs.push_back({std::move(container), std::move(bus)});
      }
    }
  }
}

int loopback_port(const std::string& url) {
  const auto scheme = url.find("://");
  const auto rest = scheme == std::string::npos ? url : url.substr(scheme + 3);
  const auto colon = rest.rfind(':');
  const auto host = rest.substr(0, colon);
  int port = 0;
  if (colon == std::string::npos || (host != "localhost" && !host.starts_with("127."))) {
    return 0;
  }
  const auto* const end = rest.data() + rest.size();
  return std::from_chars(rest.data() + colon + 1, end, port).ptr == end ? port : 0;
}

}  // namespace mesh::host
