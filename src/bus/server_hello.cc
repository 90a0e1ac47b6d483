#include "bus/server_hello.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "bus/json_fields.h"
#include "os/fd.h"
#include "os/poll.h"

namespace mesh::bus {

namespace {

using nlohmann::json;

constexpr std::size_t kMostInfo = 65536;
constexpr std::string_view kInfo = "INFO ";

struct AddressDeleter {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, AddressDeleter>;

Result<Addresses> resolve(const std::string& host, int port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error =
      ::getaddrinfo(dialled(host).c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (error != 0) {
    return fail(Code::Unavailable, fmt::format("{}: {}", host, ::gai_strerror(error)));
  }
  return Addresses(found);
}

bool finish_connect(int fd, const os::Deadline& deadline) {
  pollfd wait{fd, POLLOUT, 0};
  int error = 0;
  socklen_t size = sizeof(error);
  return ::poll(&wait, 1, os::poll_milliseconds(deadline)) == 1 &&
         ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

os::Fd dial(const addrinfo& address, const os::Deadline& deadline) {
  os::Fd fd(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.valid() && ::connect(fd.get(), address.ai_addr, address.ai_addrlen) != 0 &&
      (errno != EINPROGRESS || !finish_connect(fd.get(), deadline))) {
    fd.reset();
  }
  return fd;
}

/// The first line that comes, without its end.
Result<std::string> read_line(int fd, const os::Deadline& deadline) {
  std::string line;
  while (line.find('\n') == std::string::npos && line.size() < kMostInfo) {
    std::array<char, 4096> buffer{};
    if (!os::wait_readable(fd, deadline.left())) {
      return fail(Code::Timeout, "the server says nothing");
    }
    const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (got <= 0) {
      return fail(Code::Unavailable, "the server closed the connection");
    }
    line.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return line.substr(0, line.find_first_of("\r\n"));
}

}  // namespace

std::string dialled(const std::string& host) {
  if (host.empty() || host == "0.0.0.0") {
    return "127.0.0.1";
  }
  return host == "::" ? "::1" : host;
}

Result<ServerHello> read_hello(const std::string& host, int port, os::Milliseconds timeout) {
  const os::Deadline deadline(timeout);
  MESH_TRY(const Addresses addresses, resolve(host, port));
  os::Fd fd;
  for (const addrinfo* each = addresses.get(); each != nullptr && !fd.valid();
       each = each->ai_next) {
    fd = dial(*each, deadline);
  }
  if (!fd.valid()) {
    return fail(Code::Unavailable, fmt::format("nobody listens on {}:{}", host, port));
  }
  MESH_TRY(const std::string line, read_line(fd.get(), deadline));
  const json info =
      line.starts_with(kInfo) ? json::parse(line.substr(kInfo.size()), nullptr, false) : json{};
  if (text(info, "server_id").empty()) {
    return fail(Code::Conflict, fmt::format("what listens on {}:{} is no nats-server: {}", host,
                                            port, printable(line)));
  }
  return ServerHello{text(info, "server_id"), text(info, "version")};
}

}  // namespace mesh::bus
