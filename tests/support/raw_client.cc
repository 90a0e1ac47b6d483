#include "tests/support/raw_client.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <deque>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace mesh::test {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kLineEnd = "\r\n";

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> found;
  for (const std::string_view word : split(line, ' ')) {
    if (!word.empty()) {
      found.push_back(word);
    }
  }
  return found;
}

std::size_t number(std::string_view text) {
  std::size_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// The text between the quotes of `-ERR 'text'`.
std::string error_text(std::string_view line) {
  const std::size_t first = line.find('\'');
  const std::size_t last = line.rfind('\'');
  if (first == std::string_view::npos || last <= first) {
    return std::string(line);
  }
  return std::string(line.substr(first + 1, last - first - 1));
}

Result<int> dial(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return fail(Code::Internal, std::strerror(errno));
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr general{};
  static_assert(sizeof(general) == sizeof(address));
  std::memcpy(&general, &address, sizeof(address));
  if (::connect(fd, &general, sizeof(general)) != 0) {
    const int error = errno;
    ::close(fd);
    return fail(Code::Unavailable, fmt::format("127.0.0.1:{}: {}", port, std::strerror(error)));
  }
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return fd;
}

}  // namespace

struct RawClient::State {
  int fd = -1;
  bool open = true;
  std::string unread;
  std::deque<RawMessage> messages;
  std::deque<std::string> errors;
  std::size_t pongs = 0;
  std::string inbox;  // the one that request subscribed to

  ~State() {
    if (fd >= 0) {
      ::close(fd);
    }
  }

  /// Reads what is there, or waits for it until `deadline`. False at the deadline and at the end.
  bool read_more(Clock::time_point deadline) {
    const auto left = std::chrono::duration_cast<Milliseconds>(deadline - Clock::now()).count();
    pollfd wait{fd, POLLIN, 0};
    if (!open || ::poll(&wait, 1, left < 0 ? 0 : static_cast<int>(left) + 1) <= 0) {
      return false;
    }
    char buffer[65536];
    const ssize_t got = ::recv(fd, buffer, sizeof(buffer), 0);
    if (got <= 0) {
      open = false;
      return false;
    }
    unread.append(buffer, static_cast<std::size_t>(got));
    while (parse_one()) {
    }
    return true;
  }

  /// Takes one whole operation from `unread`; false where there is none.
  bool parse_one() {
    const std::size_t end = unread.find(kLineEnd);
    if (end == std::string::npos) {
      return false;
    }
    const std::string line = unread.substr(0, end);
    const std::size_t body = end + kLineEnd.size();
    if (line.starts_with("MSG ") || line.starts_with("HMSG ")) {
      return parse_message(line, body);
    }
    if (line == "PING") {
      static_cast<void>(write_all("PONG\r\n"));
    } else if (line == "PONG") {
      ++pongs;
    } else if (line.starts_with("-ERR")) {
      errors.push_back(error_text(line));
    }
    unread.erase(0, body);
    return true;
  }

  /// `MSG subject sid [reply] size` or `HMSG subject sid [reply] header-size size`.
  bool parse_message(const std::string& line, std::size_t body) {
    const std::vector<std::string_view> parts = words(line);
    const bool with_header = parts[0] == "HMSG";
    const std::size_t sizes = with_header ? 2 : 1;
    const std::size_t size = number(parts.back());
    const std::size_t header_size = with_header ? number(parts[parts.size() - 2]) : 0;
    if (unread.size() < body + size + kLineEnd.size()) {
      return false;
    }
    RawMessage message{std::string(parts[1]), std::string(parts[2]), {}, {}, {}};
    if (parts.size() == 4 + sizes) {
      message.reply = std::string(parts[3]);
    }
    message.header = unread.substr(body, header_size);
    message.payload = unread.substr(body + header_size, size - header_size);
    messages.push_back(std::move(message));
    unread.erase(0, body + size + kLineEnd.size());
    return true;
  }

  Status write_all(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) {
        open = false;
        return fail(Code::Unavailable, fmt::format("send: {}", std::strerror(errno)));
      }
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return {};
  }
};

RawClient::RawClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
RawClient::RawClient(RawClient&&) noexcept = default;
RawClient& RawClient::operator=(RawClient&&) noexcept = default;
RawClient::~RawClient() = default;

Result<RawClient> RawClient::connect(int port, std::string_view user, std::string_view password,
                                     Milliseconds timeout) {
  auto state = std::make_unique<State>();
  MESH_TRY(state->fd, dial(port));
  const nlohmann::json hello{{"verbose", false},  {"pedantic", false}, {"user", user},
                             {"pass", password},  {"lang", "raw"},     {"version", "1"},
                             {"protocol", 1},     {"headers", true},   {"no_responders", true},
                             {"name", "raw test"}};
  RawClient client(std::move(state));
  MESH_CHECK(client.send(fmt::format("CONNECT {}\r\n", hello.dump())));
  Status logged_in = client.sync(timeout);
  if (!logged_in && !client.state_->errors.empty()) {
    return fail(Code::PermissionDenied, client.state_->errors.front());
  }
  MESH_CHECK(logged_in);
  return client;
}

Status RawClient::send(std::string_view bytes) {
  return state_->write_all(bytes);
}

Status RawClient::publish(std::string_view subject, std::string_view payload,
                          std::string_view reply) {
  return send(fmt::format("PUB {}{}{} {}\r\n{}\r\n", subject, reply.empty() ? "" : " ", reply,
                          payload.size(), payload));
}

Status RawClient::publish_with_header(std::string_view subject, std::string_view header,
                                      std::string_view payload, std::string_view reply) {
  return send(fmt::format("HPUB {}{}{} {} {}\r\n{}{}\r\n", subject, reply.empty() ? "" : " ", reply,
                          header.size(), header.size() + payload.size(), header, payload));
}

Status RawClient::subscribe(std::string_view subject, std::string_view sid,
                            std::string_view queue) {
  return send(fmt::format("SUB {}{}{} {}\r\n", subject, queue.empty() ? "" : " ", queue, sid));
}

Status RawClient::unsubscribe(std::string_view sid, int after) {
  return send(after > 0 ? fmt::format("UNSUB {} {}\r\n", sid, after)
                        : fmt::format("UNSUB {}\r\n", sid));
}

Result<RawMessage> RawClient::next(Milliseconds timeout, std::string_view sid) {
  const auto deadline = Clock::now() + timeout;
  for (;;) {
    auto& heard = state_->messages;
    const auto found = std::find_if(heard.begin(), heard.end(), [&](const RawMessage& message) {
      return sid.empty() || message.sid == sid;
    });
    if (found != heard.end()) {
      RawMessage message = std::move(*found);
      heard.erase(found);
      return message;
    }
    if (!state_->read_more(deadline)) {
      return fail(state_->open ? Code::Timeout : Code::Unavailable, "no message came");
    }
  }
}

Result<std::string> RawClient::next_error(Milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  while (state_->errors.empty()) {
    if (!state_->read_more(deadline)) {
      return fail(state_->open ? Code::Timeout : Code::Unavailable, "no error came");
    }
  }
  std::string error = std::move(state_->errors.front());
  state_->errors.pop_front();
  return error;
}

Status RawClient::sync(Milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  const std::size_t wanted = state_->pongs + 1;
  MESH_CHECK(send("PING\r\n"));
  while (state_->pongs < wanted) {
    if (!state_->read_more(deadline)) {
      return fail(state_->open ? Code::Timeout : Code::Unavailable, "no PONG came");
    }
  }
  return {};
}

RawHeard RawClient::take() {
  RawHeard heard;
  heard.messages.assign(std::make_move_iterator(state_->messages.begin()),
                        std::make_move_iterator(state_->messages.end()));
  heard.errors.assign(std::make_move_iterator(state_->errors.begin()),
                      std::make_move_iterator(state_->errors.end()));
  state_->messages.clear();
  state_->errors.clear();
  return heard;
}

Result<RawHeard> RawClient::settle(Milliseconds timeout) {
  MESH_CHECK(sync(timeout));
  return take();
}

Result<RawMessage> RawClient::request(std::string_view subject, std::string_view payload,
                                      std::string_view inbox, Milliseconds timeout) {
  const std::string sid = fmt::format("request:{}", inbox);
  if (state_->inbox != inbox) {
    MESH_CHECK(subscribe(inbox, sid));
    state_->inbox = std::string(inbox);
  }
  MESH_CHECK(publish(subject, payload, inbox));
  return next(timeout, sid);
}

bool RawClient::is_open() const {
  return state_->open;
}

}  // namespace mesh::test
