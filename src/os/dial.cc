#include "os/dial.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>

#include <fmt/format.h>

#include "os/poll.h"

namespace mesh::os {

namespace {

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

bool finish_connect(int fd, const Deadline& deadline) {
  pollfd wait{fd, POLLOUT, 0};
  int error = 0;
  socklen_t size = sizeof(error);
  return ::poll(&wait, 1, poll_milliseconds(deadline)) == 1 &&
         ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

Fd dial_address(const addrinfo& address, const Deadline& deadline) {
  Fd fd(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.valid() && ::connect(fd.get(), address.ai_addr, address.ai_addrlen) != 0 &&
      (errno != EINPROGRESS || !finish_connect(fd.get(), deadline))) {
    fd.reset();
  }
  return fd;
}

}  // namespace

std::string dialled(const std::string& host) {
  if (host.empty() || host == "0.0.0.0") {
    return "127.0.0.1";
  }
  return host == "::" ? "::1" : host;
}

Result<Fd> dial(const std::string& host, int port, const Deadline& deadline) {
  MESH_TRY(const Addresses addresses, resolve(host, port));
  for (const addrinfo* each = addresses.get(); each != nullptr; each = each->ai_next) {
    if (Fd fd = dial_address(*each, deadline); fd.valid()) {
      return fd;
    }
  }
  return fail(Code::Unavailable, fmt::format("nobody listens on {}:{}", host, port));
}

}  // namespace mesh::os
