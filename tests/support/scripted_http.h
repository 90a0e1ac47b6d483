#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mesh::test {

/// A request as the server read it; names of headers in lower case.
struct HttpRequest {
  std::string method;
  std::string target;  // path and query
  std::map<std::string, std::string> headers;
  std::string body;

  [[nodiscard]] std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string() : found->second;
  }
  /// The target without its query.
  [[nodiscard]] std::string path() const { return target.substr(0, target.find('?')); }
};

/// What is answered, and how it goes wrong.
struct HttpReply {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  /// Sent as Content-Length in place of the body's own size.
  std::optional<std::size_t> announced = {};
  /// After so many bytes of the body the connection is reset, or nothing more is sent.
  std::optional<std::size_t> reset_after = {};
  std::optional<std::size_t> stall_after = {};
  bool dropped = false;  // the connection is closed without a word
  bool hangs = false;    // nothing is sent, not even the head
  /// Goes on after the body: with what is given to `publish`, until the client leaves.
  bool streams = false;
};

/// A server on 127.0.0.1 for tests of clients: HTTP/1.1, connections kept, a thread for each. The
/// handler runs under a lock, so it may use the test's variables; the test reads them when its
/// client is done.
class ScriptedHttp {
 public:
  using Handler = std::function<HttpReply(const HttpRequest&)>;
  explicit ScriptedHttp(Handler handler);
  /// On a unix socket at this path; port() is 0.
  ScriptedHttp(Handler handler, const std::string& unix_socket);
  ScriptedHttp(const ScriptedHttp&) = delete;
  ScriptedHttp& operator=(const ScriptedHttp&) = delete;
  ~ScriptedHttp();

  [[nodiscard]] int port() const;
  [[nodiscard]] std::string address() const;  // 127.0.0.1:port
  [[nodiscard]] std::string url(std::string_view path) const;
  /// `GET /v2/x`, in the order of their coming.
  [[nodiscard]] std::vector<std::string> requests() const;
  /// How many connections were accepted.
  [[nodiscard]] int connections() const;
  /// Sends to every answer that streams; also from within the handler.
  void publish(std::string_view bytes);

 private:
  struct State;
  void begin(Handler handler);
  std::unique_ptr<State> state_;
};

/// The status that a GET of `path` at 127.0.0.1:port is answered with; 0 where nobody answers
/// within a second.
[[nodiscard]] int http_status(int port, std::string_view path);

}  // namespace mesh::test
