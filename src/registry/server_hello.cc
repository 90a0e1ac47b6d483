#include <sys/socket.h>

#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "http/message.h"
#include "os/dial.h"
#include "os/poll.h"
#include "registry/server.h"
#include "registry/server_config.h"

namespace mesh::registry {
namespace {

constexpr std::size_t kMostHead = 16384;
constexpr std::string_view kApiHeader = "Docker-Distribution-Api-Version";

Result<std::string> read_head(int fd, const os::Deadline& deadline) {
  std::string head;
  while (head.find("\r\n\r\n") == std::string::npos && head.size() < kMostHead) {
    std::array<char, 4096> buffer{};
    if (!os::wait_readable(fd, deadline.left())) {
      return fail(Code::Timeout, "the registry says nothing");
    }
    const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (got < 0) {
      return fail(Code::Timeout, "the connection broke");
    }
    if (got == 0) {
      break;
    }
    head.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return head.substr(0, head.find("\r\n\r\n"));
}

/// The fields that follow the first line.
http::Headers fields_of(std::string_view head) {
  http::Headers out;
  for (std::string_view line : split(head, '\n')) {
    line.remove_suffix(line.ends_with('\r') ? 1 : 0);
    const auto colon = line.find(": ");
    if (colon != std::string_view::npos) {
      out.add(std::string(line.substr(0, colon)), std::string(line.substr(colon + 2)));
    }
  }
  return out;
}

}  // namespace

Result<os::ServerHello> registry_hello(const std::string& host, int port,
                                       os::Milliseconds timeout) {
  const os::Deadline deadline(timeout);
  MESH_TRY(const os::Fd fd, os::dial(host, port, deadline));
  constexpr std::string_view kQuestion =
      "GET /v2/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  if (::send(fd.get(), kQuestion.data(), kQuestion.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(kQuestion.size())) {
    return fail(Code::Timeout, "the connection broke");
  }
  MESH_TRY(const std::string head, read_head(fd.get(), deadline));
  const auto fields = fields_of(head);
  if (!head.starts_with("HTTP/1.") || !fields.has(kApiHeader)) {
    return fail(Code::Conflict, fmt::format("what listens on {}:{} is no registry: {}", host, port,
                                            printable(head, 100)));
  }
  return os::ServerHello{std::string(fields.get(kMeshHeader)), {}};
}

}  // namespace mesh::registry
