#include "host/prober.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "base/text.h"

namespace mesh::host {

namespace {

constexpr std::size_t kMostHead = 4096;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

std::optional<SocketAddress> socket_address(const std::string& host, int port) {
  SocketAddress out;
  sockaddr_in four{};
  sockaddr_in6 six{};
  if (::inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(static_cast<std::uint16_t>(port));
    std::memcpy(&out.storage, &four, sizeof four);
    out.size = sizeof four;
    return out;
  }
  if (::inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(static_cast<std::uint16_t>(port));
    std::memcpy(&out.storage, &six, sizeof six);
    out.size = sizeof six;
    return out;
  }
  return std::nullopt;
}

std::string request_of(const Prober::Check& check) {
  return fmt::format(
      "GET {} HTTP/1.1\r\nHost: {}:{}\r\nUser-Agent: mesh-host\r\nConnection: close\r\n\r\n",
      *check.path, check.host, check.port);
}

/// `HTTP/1.1 200 OK`: the status, or nothing.
std::optional<int> status_of(std::string_view head) {
  const auto space = head.find(' ');
  if (!head.starts_with("HTTP/1.") || space == std::string_view::npos || head.size() < space + 4) {
    return std::nullopt;
  }
  int status = 0;
  const auto* begin = head.data() + space + 1;
  return std::from_chars(begin, begin + 3, status).ptr == begin + 3 ? std::optional(status)
                                                                    : std::nullopt;
}

std::string errno_text() {
  return std::strerror(errno);
}  // NOLINT(concurrency-mt-unsafe)

}  // namespace

void Prober::begin(Check check, os::Monotonic now) {
  drop(check.name);
  const auto address = socket_address(check.host, check.port);
  if (!address) {
    on_done_(check.name, "there is no address to ask at");
    return;
  }
  Probe probe;
  probe.fd =
      os::Fd(::socket(address->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const auto* where = reinterpret_cast<const sockaddr*>(&address->storage);  // NOLINT
  if (!probe.fd.valid() ||
      (::connect(probe.fd.get(), where, address->size) != 0 && errno != EINPROGRESS)) {
    on_done_(check.name, fmt::format("port {}: {}", check.port, errno_text()));
    return;
  }
  probe.deadline = now + check.timeout;
  probe.check = std::move(check);
  probes_.push_back(std::move(probe));
}

void Prober::drop(const converge::UnitName& name) {
  std::erase_if(probes_, [&](const Probe& probe) { return probe.check.name == name; });
}

void Prober::add_to(std::vector<pollfd>& polled) const {
  for (const auto& probe : probes_) {
    const short events = probe.stage == Stage::Reading ? POLLIN : POLLOUT;
    polled.push_back({probe.fd.get(), events, 0});
  }
}

std::optional<std::string> Prober::advance(Probe& probe) {
  if (probe.stage == Stage::Connecting) {
    pollfd one{probe.fd.get(), POLLOUT, 0};
    if (::poll(&one, 1, 0) <= 0) {
      return std::nullopt;
    }
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(probe.fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
      errno = error;
      return fmt::format("port {}: {}", probe.check.port, errno_text());
    }
    if (!probe.check.path) {
      return std::string();
    }
    probe.out = request_of(probe.check);
    probe.stage = Stage::Sending;
  }
  while (probe.stage == Stage::Sending) {
    const auto sent = ::send(probe.fd.get(), probe.out.data(), probe.out.size(), MSG_NOSIGNAL);
    if (sent < 0) {
      return errno == EAGAIN ? std::optional<std::string>()
                             : fmt::format("port {}: {}", probe.check.port, errno_text());
    }
    probe.out.erase(0, static_cast<std::size_t>(sent));
    if (probe.out.empty()) {
      probe.stage = Stage::Reading;
    }
  }
  std::array<char, 512> buffer{};
  while (true) {
    const auto got = ::recv(probe.fd.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EAGAIN) {
      return std::nullopt;
    }
    if (got > 0) {
      probe.in.append(buffer.data(), static_cast<std::size_t>(got));
    }
    if (const auto status = status_of(probe.in)) {
      const bool healthy = *status >= 200 && *status < 400;
      return healthy ? std::string()
                     : fmt::format("GET {} gave status {}", *probe.check.path, *status);
    }
    if (got <= 0 || probe.in.size() > kMostHead) {
      return fmt::format("GET {} gave no HTTP answer", *probe.check.path);
    }
  }
}

void Prober::go_on(os::Monotonic now) {
  std::vector<std::pair<converge::UnitName, std::string>> done;
  std::erase_if(probes_, [&](Probe& probe) {
    auto result = advance(probe);
    if (!result && now >= probe.deadline) {
      result = fmt::format("port {} did not answer within {} ms", probe.check.port,
                           probe.check.timeout.count());
    }
    const bool ended = result.has_value();
    if (ended) {
      done.emplace_back(probe.check.name, *std::move(result));
    }
    return ended;
  });
  for (const auto& [name, because] : done) {
    on_done_(name, because);
  }
}

std::optional<os::Monotonic> Prober::next() const {
  const auto first = std::ranges::min_element(probes_, {}, &Probe::deadline);
  return first == probes_.end() ? std::nullopt : std::optional(first->deadline);
}

}  // namespace mesh::host
