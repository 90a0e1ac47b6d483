#include "tests/support/scripted_http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <charconv>
#include <cstring>
#include <list>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

namespace mesh::test {

namespace {

sockaddr http_loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr general{};
  std::memcpy(&general, &address, sizeof(address));
  return general;
}

std::string lowered(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string_view stripped(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
    text.remove_prefix(1);
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void reset_connection(int fd) {
  const linger now{1, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

HttpRequest parse_head(std::string_view head) {
  HttpRequest request;
  const auto line = head.substr(0, head.find("\r\n"));
  const auto first = line.find(' ');
  const auto second = line.rfind(' ');
  request.method = line.substr(0, first);
  request.target = line.substr(first + 1, second - first - 1);
  for (auto rest = head.substr(line.size()); rest.size() > 2;) {
    rest.remove_prefix(2);
    const auto one = rest.substr(0, rest.find("\r\n"));
    if (const auto colon = one.find(':'); colon != std::string_view::npos) {
      request.headers[lowered(one.substr(0, colon))] = stripped(one.substr(colon + 1));
    }
    rest.remove_prefix(one.size());
  }
  return request;
}

/// One connection's bytes, read as requests.
class RequestReader {
 public:
  explicit RequestReader(int fd) : fd_(fd) {}

  std::optional<HttpRequest> next() {
    while (buffer_.find("\r\n\r\n") == std::string::npos) {
      constexpr char kHandshake = 0x16;  // TLS: not spoken here
      if (!more() || buffer_.front() == kHandshake) {
        return std::nullopt;
      }
    }
    const auto end = buffer_.find("\r\n\r\n");
    HttpRequest request = parse_head(std::string_view(buffer_).substr(0, end));
    buffer_.erase(0, end + 4);
    std::size_t length = 0;
    const std::string text = request.header("content-length");
    std::from_chars(text.data(), text.data() + text.size(), length);
    while (buffer_.size() < length) {
      if (!more()) {
        return std::nullopt;
      }
    }
    request.body = buffer_.substr(0, length);
    buffer_.erase(0, length);
    return request;
  }

 private:
  bool more() {
    std::array<char, 65536> piece{};
    const ssize_t got = ::recv(fd_, piece.data(), piece.size(), 0);
    if (got <= 0) {
      return false;
    }
    buffer_.append(piece.data(), static_cast<std::size_t>(got));
    return true;
  }

  int fd_;
  std::string buffer_;
};

std::string head_of(const HttpReply& reply) {
  std::string head = fmt::format("HTTP/1.1 {} Scripted\r\n", reply.status);
  for (const auto& [name, value] : reply.headers) {
    head += fmt::format("{}: {}\r\n", name, value);
  }
  if (reply.streams) {
    return head + "\r\n";  // until the connection's end
  }
  return head +
         fmt::format("Content-Length: {}\r\n\r\n", reply.announced.value_or(reply.body.size()));
}

}  // namespace

struct ScriptedHttp::State {
  Handler handler;
  int listener = -1;
  int port = 0;
  mutable std::mutex mutex;
  std::vector<std::string> requests;
  int accepted = 0;
  bool ending = false;
  std::list<int> open;
  std::list<std::thread> threads;
  std::thread acceptor;
  std::mutex stream_mutex;  // guards streaming
  std::list<int> streaming;

  void serve(int fd) {
    RequestReader reader(fd);
    while (auto request = reader.next()) {
      HttpReply reply;
      {
        const std::lock_guard lock(mutex);
        requests.push_back(request->method + " " + request->target);
        reply = handler(*request);
      }
      if (!answer(fd, request->method, reply)) {
        break;
      }
    }
    const std::lock_guard lock(mutex);
    open.remove(fd);
    ::close(fd);
  }

  /// True where the connection goes on.
  bool answer(int fd, const std::string& method, const HttpReply& reply) {
    if (reply.dropped || reply.hangs) {
      wait_for_end(reply.hangs ? fd : -1);
      return false;
    }
    const std::string head = head_of(reply);
    if (method == "HEAD") {
      return send_all(fd, head);
    }
    const auto most = std::min(reply.reset_after.value_or(std::string::npos),
                               reply.stall_after.value_or(std::string::npos));
    if (!send_all(fd, head + reply.body.substr(0, most))) {
      return false;
    }
    if (reply.reset_after) {
      // What was sent must arrive before the reset overtakes it.
      pollfd gone{fd, POLLIN, 0};
      ::poll(&gone, 1, 50);
      reset_connection(fd);
      return false;
    }
    if (reply.streams) {
      stream(fd);
      return false;
    }
    if (reply.stall_after) {
      wait_for_end(fd);
      return false;
    }
    return true;
  }

  static void wait_for_end(int fd) {
    if (fd >= 0) {
      pollfd gone{fd, POLLRDHUP, 0};
      ::poll(&gone, 1, -1);
    }
  }

  void stream(int fd) {
    {
      const std::lock_guard lock(stream_mutex);
      streaming.push_back(fd);
    }
    wait_for_end(fd);
    const std::lock_guard lock(stream_mutex);
    streaming.remove(fd);
  }

  void accept_all() {
    for (;;) {
      const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      const std::lock_guard lock(mutex);
      if (fd < 0 || ending) {
        if (fd >= 0) {
          ::close(fd);
        }
        return;
      }
      ++accepted;
      open.push_back(fd);
      threads.emplace_back([this, fd] { serve(fd); });
    }
  }
};

ScriptedHttp::ScriptedHttp(Handler handler) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr address = http_loopback(0);
  socklen_t size = sizeof(address);
  if (state.listener < 0 || ::bind(state.listener, &address, size) != 0 ||
      ::listen(state.listener, 64) != 0 || ::getsockname(state.listener, &address, &size) != 0) {
    throw std::runtime_error(fmt::format("no server: {}", std::strerror(errno)));
  }
  sockaddr_in found{};
  std::memcpy(&found, &address, sizeof(found));
  state.port = ntohs(found.sin_port);
  begin(std::move(handler));
}

ScriptedHttp::ScriptedHttp(Handler handler, const std::string& unix_socket)
    : state_(std::make_unique<State>()) {
  State& state = *state_;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  unix_socket.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ::unlink(unix_socket.c_str());
  state.listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const void* const where = &address;
  if (state.listener < 0 ||
      ::bind(state.listener, static_cast<const sockaddr*>(where), sizeof(address)) != 0 ||
      ::listen(state.listener, 64) != 0) {
    throw std::runtime_error(fmt::format("no server: {}", std::strerror(errno)));
  }
  begin(std::move(handler));
}

void ScriptedHttp::begin(Handler handler) {
  State& state = *state_;
  state.handler = std::move(handler);
  state.acceptor = std::thread([&state] { state.accept_all(); });
}

void ScriptedHttp::publish(std::string_view bytes) {
  const std::lock_guard lock(state_->stream_mutex);
  for (const int fd : state_->streaming) {
    static_cast<void>(send_all(fd, bytes));
  }
}

ScriptedHttp::~ScriptedHttp() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->ending = true;
    for (const int fd : state_->open) {
      ::shutdown(fd, SHUT_RDWR);
    }
  }
  ::shutdown(state_->listener, SHUT_RDWR);
  state_->acceptor.join();
  for (auto& thread : state_->threads) {
    thread.join();
  }
  ::close(state_->listener);
}

int ScriptedHttp::port() const {
  return state_->port;
}
std::string ScriptedHttp::address() const {
  return fmt::format("127.0.0.1:{}", state_->port);
}
std::string ScriptedHttp::url(std::string_view path) const {
  return fmt::format("http://127.0.0.1:{}{}", state_->port, path);
}
std::vector<std::string> ScriptedHttp::requests() const {
  const std::lock_guard lock(state_->mutex);
  return state_->requests;
}
int ScriptedHttp::connections() const {
  const std::lock_guard lock(state_->mutex);
  return state_->accepted;
}

int http_status(int port, std::string_view path) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr address = http_loopback(port);
  std::array<char, 12> said{};
  pollfd wait{fd, POLLIN, 0};
  const bool good =
      fd >= 0 && ::connect(fd, &address, sizeof(address)) == 0 &&
      send_all(fd, fmt::format("GET {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path)) &&
      ::poll(&wait, 1, 1000) == 1 && ::recv(fd, said.data(), said.size(), MSG_WAITALL) == 12;
  if (fd >= 0) {
    ::close(fd);
  }
  int status = 0;
  if (good) {
    std::from_chars(said.data() + 9, said.data() + 12, status);
  }
  return status;
}

}  // namespace mesh::test
