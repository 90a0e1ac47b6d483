#include <sys/socket.h>

#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "http/loop.h"
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

/// Go's answer to plain HTTP on a port of TLS.
bool asks_for_tls(std::string_view answer) {
  return answer.starts_with("HTTP/1.0 400 ");
}

Result<std::string> ask_plainly(const std::string& host, int port, const os::Deadline& deadline) {
  MESH_TRY(const os::Fd fd, os::dial(host, port, deadline));
  constexpr std::string_view kQuestion =
      "GET /v2/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  if (::send(fd.get(), kQuestion.data(), kQuestion.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(kQuestion.size())) {
    return fail(Code::Timeout, "the connection broke");
  }
  return read_head(fd.get(), deadline);
}

/// The fields of its answer by TLS.
Result<http::Headers> ask_by_tls(const std::string& host, int port, const std::string& ca_file,
                                 const os::Deadline& deadline) {
  const std::string name = os::dialled(host);
  const bool v6 = name.find(':') != std::string::npos;
  const os::SystemClock clock;
  http::Loop loop(clock, {.idle = {}, .stop_fd = -1, .timeout = deadline.left()});
  Result<http::Headers> found = fail(Code::Timeout, "the registry says nothing");
  loop.spawn([&] {
    http::Request request;
    request.url =
        fmt::format(fmt::runtime(v6 ? "https://[{}]:{}/v2/" : "https://{}:{}/v2/"), name, port);
    request.ca_file = ca_file;
    request.direct = true;
    auto fetched = loop.fetch(request);
    if (fetched) {
      found = std::move(fetched->headers);
    } else {
      found = fail(Code::Conflict, fetched.error().error.message);
    }
  });
  MESH_CHECK(loop.run());
  return found;
}

}  // namespace

Result<os::ServerHello> registry_hello(const std::string& host, int port, os::Milliseconds timeout,
                                       const std::string& ca_file) {
  const os::Deadline deadline(timeout);
  MESH_TRY(const std::string head, ask_plainly(host, port, deadline));
  auto fields = fields_of(head);
  const bool tls = asks_for_tls(head) && !ca_file.empty();
  if (tls) {
    MESH_TRY(fields, ask_by_tls(host, port, ca_file, deadline));
  }
  if (!head.starts_with("HTTP/1.") || !fields.has(kApiHeader)) {
    return fail(Code::Conflict, fmt::format("what listens on {}:{} is no registry: {}", host, port,
                                            printable(head, 100)));
  }
  return os::ServerHello{std::string(fields.get(kMeshHeader)), {}, tls};
}

}  // namespace mesh::registry
