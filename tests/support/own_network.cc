#include "tests/support/own_network.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstring>

#include "os/fd.h"

namespace mesh::test {

namespace {

ifreq request_for(const char* interface) {
  ifreq request{};
  std::strncpy(request.ifr_name, interface, IFNAMSIZ - 1);
  return request;
}

bool bring_up(int socket, const char* interface) {
  auto request = request_for(interface);
  request.ifr_flags = IFF_UP;
  return ::ioctl(socket, SIOCSIFFLAGS, &request) == 0;
}

/// A second address of the interface: to whoever dials it, it is one beyond loopback.
bool add_address(int socket, const char* alias, const std::string& address) {
  auto request = request_for(alias);
  auto* in = reinterpret_cast<sockaddr_in*>(&request.ifr_addr);
  in->sin_family = AF_INET;
  return ::inet_pton(AF_INET, address.c_str(), &in->sin_addr) == 1 &&
         ::ioctl(socket, SIOCSIFADDR, &request) == 0;
}

}  // namespace

bool enter_own_network(const std::string& address) {
  if (::unshare(CLONE_NEWNET) != 0) {
    return false;
  }
  const os::Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return bring_up(socket.get(), "lo") && add_address(socket.get(), "lo:1", address);
}

}  // namespace mesh::test
