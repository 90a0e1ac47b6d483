#include "bus/server_hello.h"

#include <sys/socket.h>

#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "bus/json_fields.h"
#include "os/dial.h"
#include "os/poll.h"

namespace mesh::bus {

namespace {

using nlohmann::json;

constexpr std::size_t kMostInfo = 65536;
constexpr std::string_view kInfo = "INFO ";

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

Result<ServerHello> read_hello(const std::string& host, int port, os::Milliseconds timeout) {
  const os::Deadline deadline(timeout);
  MESH_TRY(const os::Fd fd, os::dial(host, port, deadline));
  MESH_TRY(const std::string line, read_line(fd.get(), deadline));
  const json info =
      line.starts_with(kInfo) ? json::parse(line.substr(kInfo.size()), nullptr, false) : json{};
  if (text(info, "server_id").empty()) {
    return fail(Code::Conflict, fmt::format("what listens on {}:{} is no nats-server: {}", host,
                                            port, printable(line)));
  }
  const auto tls = info.find("tls_required");
  return ServerHello{text(info, "server_id"), text(info, "version"),
                     tls != info.end() && tls->is_boolean() && tls->get<bool>()};
}

}  // namespace mesh::bus
