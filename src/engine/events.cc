#include "engine/events.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/url.h"

namespace mesh::engine {

namespace {

/// What changes a container's state: an engine also tells of each command that runs in one, and
/// health checks are such.
std::string events_filter(const Labels& labels) {
  nlohmann::json wanted = nlohmann::json::array();
  for (const auto& [name, value] : labels) {
    wanted.push_back(name + "=" + value);
  }
  return url_escaped(nlohmann::json{
      {"type", {"container"}},
      {"label", wanted},
      {"event", {"create", "start", "die", "died", "kill", "stop", "destroy", "remove", "oom"}}}
                         .dump());
}

os::Fd connected(const std::string& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.size() >= sizeof(address.sun_path)) {
    return os::Fd();
  }
  socket.copy(address.sun_path, socket.size());
  os::Fd out(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // sockaddr_un is larger than sockaddr: the system call takes it by its address and size.
  const void* const where = &address;
  if (!out.valid() ||
      ::connect(out.get(), static_cast<const sockaddr*>(where), sizeof(address)) != 0) {
    return os::Fd();
  }
  return out;
}

}  // namespace

Events::Events(std::string socket, Labels labels)
    : socket_(std::move(socket)),
      labels_(std::move(labels)),
      watch_(::epoll_create1(EPOLL_CLOEXEC)) {}

void Events::dial() {
  // The newest version that the engine has: what is asked for is in all of them.
  const std::string request = fmt::format(
      "GET /events?filters={} HTTP/1.1\r\nHost: localhost\r\n\r\n", events_filter(labels_));
  os::Fd connection = connected(socket_);
  if (!connection.valid()) {
    return;
  }
  const ssize_t sent = ::send(connection.get(), request.data(), request.size(), MSG_NOSIGNAL);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  if (sent != static_cast<ssize_t>(request.size()) ||
      ::epoll_ctl(watch_.get(), EPOLL_CTL_ADD, connection.get(), &event) != 0) {
    return;
  }
  connection_ = std::move(connection);
}

bool Events::read_away() {
  bool quiet = true;
  for (std::array<char, 16384> piece{};;) {
    const ssize_t got = ::recv(connection_.get(), piece.data(), piece.size(), 0);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0 && errno == EAGAIN) {
      return quiet;
    }
    quiet = false;
    if (got <= 0) {
      connection_.reset();
      return quiet;
    }
  }
}

bool Events::drain() {
  const std::lock_guard lock(mutex_);
  const bool quiet = connection_.valid() && read_away();
  if (!connection_.valid()) {
    dial();
  }
  return quiet;
}

}  // namespace mesh::engine
